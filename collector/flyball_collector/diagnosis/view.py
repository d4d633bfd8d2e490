"""The input of detectors for one second: all readings of the fleet as arrays along hosts, GPUs and resources."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.largest_by_host import largest_by_host
from flyball_collector.diagnosis.reading_index import FleetIndex, IndexCache, Positions
from flyball_collector.diagnosis.seen_metrics import SeenMetrics
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.ranks import Ranks
from flyball_collector.fleet.runs import FleetRun
from flyball_proto.v1 import telemetry_pb2 as pb

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_SECOND = 1e9


class View:
    """One second of the fleet. Unknown is NaN; a host that is not reporting has no known values.

    Arrays are shared and read-only. Windowed counters are rates a second. `horizon` None means the newest second; 10,
    60 or 300 means the mean over that many seconds. A gauge that is not in the window has only its newest value.
    """

    def __init__(self, fleet: Fleet, index: FleetIndex, seen_metrics: SeenMetrics, now_ns: int) -> None:
        self.seen_metrics = seen_metrics
        self.now_ns = now_ns
        self.now = now_ns / _SECOND
        self._fleet = fleet
        self._window = fleet.window
        self._index = index
        self._arena = fleet.arena()  # a copy; its last element is unknown, for position −1
        self._found: dict[tuple[Positions, int | None], Floats] = {}
        alive = np.append(fleet.window.alive, False)
        self.alive: NDArray[np.bool_] = alive[:-1]  # along hosts: it is reporting
        self._some_not_reporting = not self.alive.all()

    @property
    def ranks(self) -> Ranks:
        """All ranks of all runs with the reports received so far."""
        return self._fleet.ranks

    def seen_runs(self) -> Mapping[str, FleetRun]:
        """Return the runs whose processes agents report, and those that have ended, by name."""
        return self._fleet.seen_runs(self.now_ns)

    def run_of(self, member: pb.Member) -> str:
        """Return the run of a process: that of the client in its job, if there is one."""
        return self._fleet.runs.name_of(member.run)

    @property
    def states(self) -> tuple[HostState, ...]:
        """The state of each host along `hosts`, without its readings."""
        return self._index.states

    @property
    def hosts(self) -> Subjects:
        """All hosts in the window."""
        return self._index.hosts

    @property
    def known(self) -> tuple[HostState, ...]:
        """All hosts of the fleet, along `everyone`, also those without a record since the collector started."""
        return self._index.known

    @property
    def everyone(self) -> Subjects:
        """All hosts of the fleet. Their `hosts` are positions in `View.hosts`, or −1 for hosts not in the window."""
        return self._index.everyone

    @property
    def gpus(self) -> Subjects:
        """All GPUs of these hosts."""
        return self._index.gpus

    def host(self, metric: str, horizon: int | None = None, **where: str) -> Floats:
        """Return a metric along hosts. `where` gives all labels of the metric, if it has any."""
        return self._values(self._index.host(metric, where), horizon, self.hosts)

    def gpu(self, metric: str, horizon: int | None = None, **where: str) -> Floats:
        """Return a metric along GPUs. `where` gives its labels other than the GPU's (`reason`, `cause`, `kind`)."""
        return self._values(self._index.gpu(metric, where), horizon, self.gpus)

    def resources(self, metric: str) -> Subjects:
        """Return the subjects of a metric with labels: each mount, device, interface, or GPU with its labels."""
        return self._index.resources(metric).subjects

    def labels(self, metric: str) -> tuple[Mapping[str, str], ...]:
        """Return the labels of a metric along its `resources`."""
        return self._index.resources(metric).labels

    def resource(self, metric: str, horizon: int | None = None) -> Floats:
        """Return a metric along its `resources`."""
        found = self._index.resources(metric)
        return self._values(found.positions, horizon, found.subjects)

    def host_count(self, metric: str, **where: str) -> Floats:
        """Return the value of a counter along hosts, not its rate."""
        return self._newest(self._index.host(metric, where))

    def gpu_count(self, metric: str, **where: str) -> Floats:
        """Return the value of a counter along GPUs."""
        return self._newest(self._index.gpu(metric, where))

    def resource_count(self, metric: str) -> Floats:
        """Return the value of a counter along its `resources`."""
        return self._newest(self._index.resources(metric).positions)

    def readings(self, place: int, metric: str) -> Floats:
        """Return all readings of a metric of one host in the order of its columns. Use it for a few hosts only."""
        offsets = [offset for _, offset, _ in self._index.layouts[place].columns(metric)]
        if not offsets or not self.alive[place]:
            return np.full(len(offsets), np.nan)
        values: Floats = self._arena[self._index.starts[place] + np.array(offsets)]
        return values

    def host_samples(self, metric: str, horizon: int, **where: str) -> NDArray[np.int64]:
        """Return the number of readings in `host(metric, horizon)`."""
        return self._samples(self._index.host(metric, where), horizon)

    def gpu_samples(self, metric: str, horizon: int, **where: str) -> NDArray[np.int64]:
        """Return the number of readings in `gpu(metric, horizon)`."""
        return self._samples(self._index.gpu(metric, where), horizon)

    def host_history(self, metric: str, seconds: int, **where: str) -> tuple[Floats, NDArray[np.float32]]:
        """Return times in seconds and values (time × host). The cost grows with the number of values."""
        return self._history(self._index.host(metric, where).rows, seconds)

    def sum_by_host(self, values: Floats, hosts: Places) -> Floats:
        """Sum values by host; `hosts` holds the host of each value. The sum is unknown if no value is known."""
        known = ~np.isnan(values)
        if not known.all():
            values, hosts = values[known], hosts[known]
        sums = np.bincount(hosts, values, minlength=len(self.hosts))
        counts = np.bincount(hosts, minlength=len(self.hosts))
        return np.where(counts > 0, sums, np.nan)

    def largest_by_host(self, values: Floats, hosts: Places) -> Floats:
        """Return the largest value of each host, or unknown if no value is known. `hosts` is in ascending order."""
        largest = largest_by_host(values, hosts, len(self.hosts))
        return np.where(np.isfinite(largest), largest, np.nan)

    def _values(self, positions: Positions, horizon: int | None, of: Subjects) -> Floats:
        found = self._found.get((positions, horizon))
        if found is None:
            if positions.windowed:
                found = self._read(positions.rows, horizon)
                found[positions.rowless] = np.nan
            else:
                found = self._newest(positions)
                if self._some_not_reporting:
                    found[~self.alive[of.hosts]] = np.nan
            found.setflags(write=False)
            self._found[positions, horizon] = found
        return found

    def _newest(self, positions: Positions) -> Floats:
        """Return the newest readings as a new array, also those of hosts that are not reporting."""
        return np.full(len(positions.arena), np.nan) if positions.absent else self._arena[positions.arena]

    def _read(self, rows: Places, horizon: int | None) -> Floats:
        """Read these rows from the window: the newest second, or means."""
        return self._window.newest()[rows].astype(np.float64) if horizon is None else self._window.means(horizon, rows)

    def _samples(self, positions: Positions, horizon: int) -> NDArray[np.int64]:
        counts = self._window.counts(horizon, positions.rows).astype(np.int64)
        counts[positions.rowless] = 0
        return counts

    def _history(self, rows: Places, seconds: int) -> tuple[Floats, NDArray[np.float32]]:
        times, values = self._window.take(np.maximum(rows, 0), seconds)
        if (rows < 0).any():
            values[:, rows < 0] = np.nan
        return times / _SECOND, values


def numbers_of(states: Sequence[HostState], name: str) -> Floats:
    """Return a numeric attribute of all hosts as an array, much faster than through a list."""
    return np.fromiter(map(attrgetter(name), states), dtype=np.float64, count=len(states))


def flags_of(states: Sequence[HostState], name: str) -> NDArray[np.bool_]:
    """Return for all hosts whether an attribute is true."""
    return np.fromiter(map(bool, map(attrgetter(name), states)), dtype=np.bool_, count=len(states))


class Viewer:
    """Makes the view of each second."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._index_cache = IndexCache()

    def view(self, now_ns: int) -> View:
        """Make the view of this second. Call it after the fleet's `advance`."""
        index, seen = self._index_cache.index(self._fleet), self._index_cache.seen_metrics
        seen.update(index.known, len(self._fleet.ranks))
        return View(self._fleet, index, seen, now_ns)
