"""What detectors see at one second: every reading of the fleet as arrays along hosts, GPUs and resources."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.places import FleetPlan, Planner, Spots
from flyball_collector.diagnosis.seen_metrics import SeenMetrics
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.ranks import Ranks

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_SECOND = 1e9


class View:
    """One second of the fleet. Unknown is NaN; a host that has fallen silent knows nothing.

    What it hands out is shared by all who ask, and cannot be written to. Windowed counters are rates a second.
    `horizon` None means the newest second; 10, 60 or 300 the mean over so many. A gauge that is not windowed has only
    its newest value.
    """

    def __init__(self, fleet: Fleet, plan: FleetPlan, met: SeenMetrics, now_ns: int) -> None:
        self.met = met
        self.now_ns = now_ns
        self.now = now_ns / _SECOND
        self._fleet = fleet
        self._window = fleet.window
        self._plan = plan
        self._arena = fleet.arena()  # a copy, with an unknown at the end: place −1
        self._found: dict[tuple[Spots, int | None], Floats] = {}
        alive = np.append(fleet.window.alive, False)
        self.alive: NDArray[np.bool_] = alive[:-1]  # along hosts: it has said something lately
        self._some_silent = not self.alive.all()

    @property
    def ranks(self) -> Ranks:
        """Every rank of every run, as far as its reports have been taken in."""
        return self._fleet.ranks

    @property
    def states(self) -> tuple[HostState, ...]:
        """What is known of each host beside its readings, along `hosts`."""
        return self._plan.states

    @property
    def hosts(self) -> Subjects:
        """Every host that has a window."""
        return self._plan.hosts

    @property
    def known(self) -> tuple[HostState, ...]:
        """Every host of the fleet, along `everyone`: also those that have said nothing since the collector started."""
        return self._plan.known

    @property
    def everyone(self) -> Subjects:
        """Every host of the fleet; `hosts` of it are places in `View.hosts`, −1 for one that has no window."""
        return self._plan.everyone

    @property
    def gpus(self) -> Subjects:
        """Every GPU of them."""
        return self._plan.gpus

    def host(self, metric: str, horizon: int | None = None, **where: str) -> Floats:
        """A metric along hosts; `where` names all its labels, where it has any."""
        return self._values(self._plan.host(metric, where), horizon, self.hosts)

    def gpu(self, metric: str, horizon: int | None = None, **where: str) -> Floats:
        """A metric along GPUs; `where` names its labels beyond the GPU's own (`reason`, `cause`, `kind`)."""
        return self._values(self._plan.gpu(metric, where), horizon, self.gpus)

    def resources(self, metric: str) -> Subjects:
        """The subjects of a metric that has labels: each mount, device, interface, or GPU with its labels."""
        return self._plan.resources(metric).subjects

    def labels(self, metric: str) -> tuple[Mapping[str, str], ...]:
        """The labels along `resources`."""
        return self._plan.resources(metric).labels

    def resource(self, metric: str, horizon: int | None = None) -> Floats:
        """A metric along its `resources`."""
        found = self._plan.resources(metric)
        return self._values(found.spots, horizon, found.subjects)

    def host_count(self, metric: str, **where: str) -> Floats:
        """A counter's own value along hosts, not its rate."""
        return self._arena[self._plan.host(metric, where).arena]

    def gpu_count(self, metric: str, **where: str) -> Floats:
        """A counter's own value along GPUs."""
        return self._arena[self._plan.gpu(metric, where).arena]

    def resource_count(self, metric: str) -> Floats:
        """A counter's own value along its `resources`."""
        return self._arena[self._plan.resources(metric).spots.arena]

    def readings(self, place: int, metric: str) -> Floats:
        """Every reading of a metric of one host, by the order of its columns: for a look at a few hosts only."""
        offsets = [offset for _, offset, _ in self._plan.plans[place].columns(metric)]
        if not offsets or not self.alive[place]:
            return np.full(len(offsets), np.nan)
        values: Floats = self._arena[self._plan.starts[place] + np.array(offsets)]
        return values

    def host_samples(self, metric: str, horizon: int, **where: str) -> NDArray[np.int64]:
        """How many readings are behind `host(metric, horizon)`."""
        return self._samples(self._plan.host(metric, where), horizon)

    def gpu_samples(self, metric: str, horizon: int, **where: str) -> NDArray[np.int64]:
        """How many readings are behind `gpu(metric, horizon)`."""
        return self._samples(self._plan.gpu(metric, where), horizon)

    def host_history(self, metric: str, seconds: int, **where: str) -> tuple[Floats, NDArray[np.float32]]:
        """Times in seconds, and values time × host. Costs by the value: ask for what is needed."""
        return self._history(self._plan.host(metric, where).rows, seconds)

    def sum_by_host(self, values: Floats, hosts: Places) -> Floats:
        """Sums along hosts of values whose hosts stand at these positions; unknown where nothing is known."""
        known = ~np.isnan(values)
        sums = np.bincount(hosts[known], values[known], minlength=len(self.hosts))
        counts = np.bincount(hosts[known], minlength=len(self.hosts))
        return np.where(counts > 0, sums, np.nan)

    def largest_by_host(self, values: Floats, hosts: Places) -> Floats:
        """The largest of each host; unknown where nothing is known."""
        largest = np.full(len(self.hosts), -np.inf)
        known = ~np.isnan(values)
        np.maximum.at(largest, hosts[known], values[known])
        return np.where(np.isfinite(largest), largest, np.nan)

    def _values(self, spots: Spots, horizon: int | None, of: Subjects) -> Floats:
        found = self._found.get((spots, horizon))
        if found is None:
            if spots.windowed:
                found = self._read(spots.rows, horizon)
                found[spots.rowless] = np.nan
            else:
                found = self._arena[spots.arena]
                if self._some_silent:
                    found[~self.alive[of.hosts]] = np.nan
            found.setflags(write=False)
            self._found[spots, horizon] = found
        return found

    def _read(self, rows: Places, horizon: int | None) -> Floats:
        """The window's line of this second, or of means; only these rows of it."""
        return self._window.newest()[rows].astype(np.float64) if horizon is None else self._window.means(horizon, rows)

    def _samples(self, spots: Spots, horizon: int) -> NDArray[np.int64]:
        counts = self._window.counts(horizon, spots.rows).astype(np.int64)
        counts[spots.rowless] = 0
        return counts

    def _history(self, rows: Places, seconds: int) -> tuple[Floats, NDArray[np.float32]]:
        times, values = self._window.take(np.maximum(rows, 0), seconds)
        if (rows < 0).any():
            values[:, rows < 0] = np.nan
        return times / _SECOND, values


def numbers_of(states: Sequence[HostState], name: str) -> Floats:
    """An attribute of all hosts; many times faster than a list of them."""
    return np.fromiter(map(attrgetter(name), states), dtype=np.float64, count=len(states))


def flags_of(states: Sequence[HostState], name: str) -> NDArray[np.bool_]:
    """Whether it says anything."""
    return np.fromiter(map(bool, map(attrgetter(name), states)), dtype=np.bool_, count=len(states))


class Viewer:
    """Makes a view a second."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._planner = Planner()

    def view(self, now_ns: int) -> View:
        """What there is to see now; call it after the fleet's `advance`."""
        plan, met = self._planner.plan(self._fleet), self._planner.met
        met.look(plan.known, len(self._fleet.ranks))
        return View(self._fleet, plan, met, now_ns)
