"""What the scores are made of: derived quantities along hosts, smoothed; each one in an explicit list."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.scores.rates import Rates
from flyball_collector.diagnosis.scores.steps import Steps
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a signal may be read from, at one second."""

    view: View
    rates: Rates
    steps: Mapping[str, Floats]


Read = Callable[[Sources], Floats]


@dataclass(frozen=True, slots=True)
class Signal:
    """One quantity along hosts.

    `times`: its smoothing takes so many times the usual seconds. `floor`: it falls at once and rises slowly, so that
    single late round trips of a busy machine do not count.
    """

    name: str
    meaning: str
    read: Read
    times: float = 1.0
    floor: bool = False


def _host(metric: str, **where: str) -> Read:
    return lambda s: s.view.host(metric, None, **where)


def _pressure(resource: str, extent: str) -> Read:
    return lambda s: np.minimum(s.view.host("pressure_seconds_total", resource=resource, extent=extent), 1.0)


def _rate(metric: str) -> Read:
    return lambda s: s.rates.host(metric)


def _step(name: str) -> Read:
    return lambda s: s.steps[name]


def _ratio(above: Floats, below: Floats) -> Floats:
    found = np.full(len(above), np.nan)
    np.divide(above, below, out=found, where=below > 0)
    return found


def _demand(s: Sources) -> Floats:
    """The agent itself runs while it counts."""
    return np.maximum(s.view.host("tasks_runnable") - 1, 0.0) / s.view.host("cpu_threads_online")


def _throttled(s: Sources) -> Floats:
    held = s.rates.host("cgroup_cpu_throttled_periods_total")
    return _ratio(held, s.rates.host("cgroup_cpu_periods_total"))


def _sum(metric: str) -> Read:
    return lambda s: s.view.sum_by_host(s.view.resource(metric), s.view.resources(metric).hosts)


def _disk_busy(s: Sources) -> Floats:
    metric = "disk_busy_seconds_total"
    return np.minimum(s.view.largest_by_host(s.view.resource(metric), s.view.resources(metric).hosts), 1.0)


def _disk_queue(s: Sources) -> Floats:
    metric = "disk_queue_seconds_total"
    return s.view.largest_by_host(s.rates.resource(metric), s.view.resources(metric).hosts)


def _disk_latency(s: Sources) -> Floats:
    """Over all disks together: the busiest decides."""

    def total(*metrics: str) -> Floats:
        found = [s.view.sum_by_host(s.rates.resource(m), s.view.resources(m).hosts) for m in metrics]
        return np.asarray(np.sum(found, axis=0))

    spent = total("disk_read_seconds_total", "disk_write_seconds_total")
    return _ratio(spent, total("disk_reads_total", "disk_writes_total"))


LOOPBACK = "localhost"
"""What the agent calls its round trip over loopback."""


def _latency(s: Sources) -> Floats:
    """The longest to a target; where there is none but loopback it is unknown."""
    metric = "latency_seconds"
    targets, values = s.view.resources(metric), s.view.resource(metric)
    return s.view.largest_by_host(np.where(_are_near(targets), np.nan, values), targets.hosts)


@lru_cache(maxsize=4)
def _are_near(targets: Subjects) -> NDArray[np.bool_]:
    return np.array([target.resource == LOOPBACK for target in targets.names], dtype=bool)


def _link_use(s: Sources) -> Floats:
    """The fullest interface whose speed is known, in either direction."""
    return _fullest(s, "network_speed_bytes_per_second", ("network_received_bytes_total", "network_sent_bytes_total"))


def _fabric_use(s: Sources) -> Floats:
    """The same of InfiniBand."""
    return _fullest(
        s, "infiniband_rate_bytes_per_second", ("infiniband_received_bytes_total", "infiniband_sent_bytes_total")
    )


def _fullest(s: Sources, speed: str, counters: tuple[str, ...]) -> Floats:
    speeds, limits = s.view.resources(speed), s.view.resource(speed)
    fullest = np.full(len(s.view.hosts), np.nan)
    for counter in counters:
        of = s.view.resources(counter)
        here, there = of.shared_with(speeds)
        use = _ratio(s.view.resource(counter)[here], limits[there])
        fullest = np.fmax(fullest, s.view.largest_by_host(use, of.hosts[here]))
    return fullest


def _retransmitted(s: Sources) -> Floats:
    sent = s.rates.host("tcp_sent_segments_total")
    return np.where(sent >= 50, _ratio(s.rates.host("tcp_retransmitted_segments_total"), sent), 0.0 * sent)


def _remote_pages(s: Sources) -> Floats:
    """Share of new pages that a process got from another node than the one it ran on, where there are many."""
    found = {}
    for name in ("local", "remote"):
        metric = f"numa_{name}_pages_total"
        found[name] = s.view.sum_by_host(s.rates.resource(metric), s.view.resources(metric).hosts)
    every = found["local"] + found["remote"]
    return np.where(every >= 1000, _ratio(found["remote"], every), 0.0 * every)


def _gpu_busy(s: Sources) -> Floats:
    """Of the GPUs of a host that hold memory, as training does."""
    view = s.view
    held = view.gpu("gpu_memory_used_bytes") > HELD_BYTES
    busy = np.where(held, view.gpu("gpu_utilization_ratio"), np.nan)
    counts = view.sum_by_host(np.where(np.isnan(busy), np.nan, 1.0), view.gpus.hosts)
    return _ratio(view.sum_by_host(busy, view.gpus.hosts), counts)


HELD_BYTES = 1.5 * 2**30
"""A GPU with more memory in use than this is somebody's: contexts of idle services take a few hundred MiB."""

SIGNALS: tuple[Signal, ...] = (
    # processor
    Signal("cpu_busy", "busy share of all CPUs", _host("cpu_busy_ratio")),
    Signal("cpu_some", "CPU pressure: share of time in which some task waited for a CPU", _pressure("cpu", "some")),
    Signal("demand", "tasks that want to run, a CPU", _demand),
    Signal("throttled", "share of the periods in which the control group's CPU limit held it back", _throttled),
    Signal("threads", "hardware threads", _host("cpu_threads_online")),
    # memory
    Signal("memory_used", "used share of memory", _host("memory_used_ratio")),
    Signal("memory_some", "memory pressure: some task waited", _pressure("memory", "some")),
    Signal("memory_full", "memory pressure: all waited", _pressure("memory", "full")),
    Signal("swap_in", "bytes a second read back from swap", _host("swap_in_bytes_total")),
    Signal("swap_out", "bytes a second written to swap", _host("swap_out_bytes_total")),
    Signal("major_faults", "page faults a second that read a disk", _host("memory_major_faults_total")),
    Signal("reclaimed", "pages a second that waiting tasks looked through for free ones",
           _rate("reclaim_direct_pages_total")),
    # disks
    Signal("io_some", "I/O pressure: some task waited", _pressure("io", "some")),
    Signal("io_full", "I/O pressure: all waited", _pressure("io", "full")),
    Signal("blocked", "tasks that wait for a disk", _host("tasks_blocked")),
    Signal("disk_busy", "share of time in which the busiest disk had something to do", _disk_busy),
    Signal("disk_queue", "mean queue of the busiest disk", _disk_queue),
    Signal("disk_latency", "seconds an operation takes", _disk_latency),
    Signal("disk_read", "bytes a second read", _sum("disk_read_bytes_total")),
    Signal("disk_written", "bytes a second written", _sum("disk_written_bytes_total")),
    # networks
    Signal("latency", "round trip to the farthest target, less what happens seldom", _latency, floor=True),
    Signal("link_use", "use of the fullest network link", _link_use),
    Signal("fabric_use", "use of the fullest InfiniBand port", _fabric_use),
    Signal("retransmitted", "share of TCP segments that were sent again", _retransmitted),
    Signal("segments", "TCP segments sent a second", _rate("tcp_sent_segments_total")),
    Signal("remote_pages", "share of new memory pages from another node", _remote_pages, times=4),
    # accelerators
    Signal("gpu_busy", "mean utilisation of the GPUs that hold memory", _gpu_busy, times=2),
    # steps
    Signal("data_share", "share of the steps' time spent waiting for input", _step("data")),
    Signal("service_share", "share spent in calls to services", _step("service")),
    Signal("communication_share", "share spent in collectives", _step("communication")),
    Signal("checkpoint_share", "share spent writing checkpoints", _step("checkpoint"), times=24),
    Signal("sync_share", "share in which the host waits for the GPU", _step("sync"), times=4),
    Signal("compute_seconds", "computing time of a step", _step("compute_seconds")),
    Signal("data_seconds", "time of a step spent waiting for input", _step("data_seconds")),
    Signal("service_seconds", "time of a step spent in calls", _step("service_seconds")),
)  # fmt: skip

NAMES = tuple(signal.name for signal in SIGNALS)
_STEPS = frozenset(f"{name}_share" for name in ("data", "service", "communication", "checkpoint", "sync")) | frozenset(
    f"{name}_seconds" for name in ("compute", "data", "service")
)

HOLD_SECONDS, STEPS_HOLD_SECONDS = 10.0, 60.0
"""How long a signal stands that has become unknown; steps may take long."""

DRIFT_A_MINUTE = 0.01
"""By so much a run's best computing time is let go: batches and sequences change."""

UNCONTENDED = 0.15
"""CPU pressure below which a computing time counts as a run's own."""


class Signals:
    """Every signal along hosts, smoothed; NaN is unknown. Ask it by name."""

    def __init__(self, smoothing_seconds: float) -> None:
        count = len(SIGNALS)
        self._rates = Rates()
        self._steps = Steps()
        self._taus = smoothing_seconds * np.array([signal.times for signal in SIGNALS])
        self._holds = np.array([STEPS_HOLD_SECONDS if s.name in _STEPS else HOLD_SECONDS for s in SIGNALS])
        self._floors = np.array([signal.floor for signal in SIGNALS])
        self._kept = Kept(
            means=((count,), float("nan")),
            seen=((count,), float("-inf")),
            last=float("nan"),  # when each host was last looked at
            looks=0,
            best=float("nan"),
            best_data=float("nan"),
            best_service=float("nan"),
            shortest=float("nan"),
        )
        self.hosts = self._kept.subjects
        self.raw: dict[str, Floats] = {}
        self.rates = self._rates

    def look(self, view: View) -> None:
        """Take a second."""
        self._kept.align(view.hosts)
        self.hosts = view.hosts
        self._rates.look(view)
        sources = Sources(view, self._rates, self._steps.read(view))
        values = np.column_stack([signal.read(sources) for signal in SIGNALS]) if len(view.hosts) else np.zeros(
            (0, len(SIGNALS))
        )  # fmt: skip
        self.raw = dict(zip(NAMES, values.T, strict=True))
        self._smooth(values, view.now)
        self._kept["looks"] = np.where(view.alive, np.minimum(self._kept["looks"] + 1, 1000), 0)
        self._note_best()

    def __getitem__(self, name: str) -> Floats:
        return np.asarray(self._kept["means"][:, NAMES.index(name)])

    @property
    def looks(self) -> NDArray[np.int64]:
        """How many times in a row each host had something to say."""
        return self._kept["looks"]

    @property
    def slowdown(self) -> Floats:
        """Share of the steps' computing time beyond the shortest that this host saw while its CPUs were free."""
        now, best = self["compute_seconds"], self._kept["best"]
        return np.asarray(np.maximum(1.0 - _ratio(best, now), 0.0))

    @property
    def data_loss(self) -> Floats:
        """Share of the steps' time spent waiting for input beyond the shortest wait that this host saw."""
        return self._beyond_best("data")

    @property
    def service_loss(self) -> Floats:
        """The same of calls to services."""
        return self._beyond_best("service")

    def _beyond_best(self, what: str) -> Floats:
        lost = 1.0 - _ratio(self._kept[f"best_{what}"], self[f"{what}_seconds"])
        return np.asarray(np.maximum(lost, 0.0) * self[f"{what}_share"])

    @property
    def latency_growth(self) -> Floats:
        """Round trip as a multiple of the shortest known here."""
        return _ratio(self["latency"], np.maximum(self._kept["shortest"], 1e-4))

    def _smooth(self, values: Floats, now: float) -> None:
        means, seen, last = self._kept["means"], self._kept["seen"], self._kept["last"]
        passed = np.nan_to_num(now - last, nan=0.0)[:, None]
        known = ~np.isnan(values)
        since = np.where(np.isinf(seen), passed, now - seen)  # reports may come seldom: what they say counts for all
        weights = 1.0 - np.exp(-np.maximum(since, 0.0) / self._taus)
        moved = means + (values - means) * weights
        moved = np.where(self._floors & (values < means), values, moved)
        moved = np.where(np.isnan(means), values, moved)
        stale = ~known & (now - seen > np.maximum(self._holds, 3 * passed))
        self._kept["means"] = np.where(known, moved, np.where(stale, np.nan, means))
        self._kept["seen"] = np.where(known, now, seen)
        self._kept["last"] = np.full(len(last), now)
        self._passed = passed[:, 0]

    def _note_best(self) -> None:
        """The shortest computing time of steps while the CPUs were free, wait for input, calls, and round trip."""
        kept, drift = self._kept, 1 + DRIFT_A_MINUTE * self._passed / 60
        now = self["compute_seconds"]
        free = (self["cpu_some"] <= UNCONTENDED) & (self.raw["cpu_some"] <= UNCONTENDED)
        kept["best"] = np.where(np.isnan(now), np.nan, np.where(free, np.fmin(kept["best"] * drift, now), kept["best"]))
        for what in ("data", "service"):
            spent, best = self[f"{what}_seconds"], f"best_{what}"
            kept[best] = np.where(np.isnan(spent), np.nan, np.fmin(kept[best] * drift, spent))
        kept["shortest"] = np.fmin(kept["shortest"] * drift, self.raw["latency"])
