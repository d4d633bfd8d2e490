"""The signals behind the scores: quantities along hosts, in an explicit list with their sources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.scores.rates import Rates
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sources:
    """The data from which signals are read, for one second."""

    view: View
    rates: Rates
    steps: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class SignalReader:
    """Reads a signal. It is unknown if all metrics in `needs` are missing. An empty list means step reports."""

    needs: tuple[str, ...]
    of: Callable[[Sources], Floats]


def _needs(*metrics: str) -> Callable[[Callable[[Sources], Floats]], SignalReader]:
    return lambda of: SignalReader(metrics, of)


@dataclass(frozen=True, slots=True)
class Signal:
    """One quantity along hosts.

    `times`: its smoothing time, as a multiple of the usual one. `median`: it is not smoothed but the median of its
    latest readings, because single readings mislead.
    """

    name: str
    meaning: str
    read: SignalReader
    times: float = 1.0
    median: bool = False


def _host(metric: str, **where: str) -> SignalReader:
    return SignalReader((metric,), lambda s: s.view.host(metric, None, **where))


def _pressure(resource: str, extent: str) -> SignalReader:
    metric = "pressure_seconds_total"
    return SignalReader((metric,), lambda s: np.minimum(s.view.host(metric, resource=resource, extent=extent), 1.0))


def _rate(metric: str) -> SignalReader:
    return SignalReader((metric,), lambda s: s.rates.host(metric))


def _step(name: str) -> SignalReader:
    return SignalReader((), lambda s: s.steps[name])


def ratio_of(above: Floats, below: Floats) -> Floats:
    found = np.full(len(above), np.nan)
    np.divide(above, below, out=found, where=below > 0)
    return found


@_needs("tasks_runnable")
def _demand(s: Sources) -> Floats:
    """Return runnable tasks for each CPU, without the agent, which runs while it counts."""
    return np.maximum(s.view.host("tasks_runnable") - 1, 0.0) / s.view.host("cpu_threads_online")


@_needs("cgroup_cpu_throttled_periods_total")
def _throttled(s: Sources) -> Floats:
    held = s.rates.host("cgroup_cpu_throttled_periods_total")
    return ratio_of(held, s.rates.host("cgroup_cpu_periods_total"))


def _sum(metric: str) -> SignalReader:
    return SignalReader(
        (metric,), lambda s: s.view.sum_by_host(s.view.resource(metric), s.view.resources(metric).hosts)
    )


@_needs("disk_busy_seconds_total")
def _disk_busy(s: Sources) -> Floats:
    metric = "disk_busy_seconds_total"
    return np.minimum(s.view.largest_by_host(s.view.resource(metric), s.view.resources(metric).hosts), 1.0)


@_needs("disk_queue_seconds_total")
def _disk_queue(s: Sources) -> Floats:
    metric = "disk_queue_seconds_total"
    return s.view.largest_by_host(s.rates.resource(metric), s.view.resources(metric).hosts)


@_needs("disk_reads_total")
def _disk_latency(s: Sources) -> Floats:
    """Return the latency over all disks together, dominated by the busiest."""

    def total(*metrics: str) -> Floats:
        found = [s.view.sum_by_host(s.rates.resource(m), s.view.resources(m).hosts) for m in metrics]
        return np.asarray(np.sum(found, axis=0))

    spent = total("disk_read_seconds_total", "disk_write_seconds_total")
    return ratio_of(spent, total("disk_reads_total", "disk_writes_total"))


LOOPBACK = "localhost"
"""The agent's name for the round trip over loopback."""


@_needs("latency_seconds", "latency_connect_seconds")
def _latency(s: Sources) -> Floats:
    """Return the longest way to a target: the time to connect. Unknown if there is only loopback."""
    view = s.view
    found = _slowest_target(s, "latency_seconds", _Target.TCP)
    connects = view.resources(_CONNECT)
    return np.fmax(found, view.largest_by_host(view.resource(_CONNECT), connects.hosts))


@_needs("latency_answer_seconds")
def _answer(s: Sources) -> Floats:
    """Return the longest work of a target for an answer: the time beyond that of the way, which connecting takes."""
    view = s.view
    connects, answers = view.resources(_CONNECT), view.resources("latency_answer_seconds")
    ours, theirs = answers.shared_with(connects)
    beyond = view.resource("latency_answer_seconds")[ours] - view.resource(_CONNECT)[theirs]
    return view.largest_by_host(np.maximum(beyond, 0.0), answers.hosts[ours])


@_needs("latency_seconds")
def _mixed_latency(s: Sources) -> Floats:
    """Return the longest request to a target whose agent does not report the time to connect."""
    return _slowest_target(s, "latency_seconds", _Target.MIXED)


_CONNECT = "latency_connect_seconds"


class _Target(IntEnum):
    """The kinds of targets, by what their round trips measure."""

    LOOPBACK = 0
    TCP = 1
    REQUEST = 2  # with separate times to connect and to answer
    MIXED = 3  # a request of an agent that does not separate them


def _slowest_target(s: Sources, metric: str, which: _Target) -> Floats:
    targets = s.view.resources(metric)
    values = np.where(_kinds_of(targets, s.view.resources(_CONNECT)) == which, s.view.resource(metric), np.nan)
    return s.view.largest_by_host(values, targets.hosts)


@lru_cache(maxsize=4)
def _kinds_of(targets: Subjects, connects: Subjects) -> NDArray[np.int64]:
    kinds = np.array([_kind_of(target.resource) for target in targets.names], dtype=np.int64)
    separate, _ = targets.shared_with(connects)
    kinds[separate] = _Target.REQUEST
    return kinds


def _kind_of(target: str) -> _Target:
    if target == LOOPBACK:
        return _Target.LOOPBACK
    return _Target.MIXED if target.startswith(("http://", "https://")) else _Target.TCP


@_needs("network_speed_bytes_per_second")
def _link_use(s: Sources) -> Floats:
    """Return the utilisation of the busiest interface with a known speed, in either direction."""
    return _busiest(s, "network_speed_bytes_per_second", ("network_received_bytes_total", "network_sent_bytes_total"))


@_needs("infiniband_rate_bytes_per_second")
def _fabric_use(s: Sources) -> Floats:
    """Return the utilisation of the busiest InfiniBand port, in either direction."""
    return _busiest(
        s, "infiniband_rate_bytes_per_second", ("infiniband_received_bytes_total", "infiniband_sent_bytes_total")
    )


def _busiest(s: Sources, speed: str, counters: tuple[str, ...]) -> Floats:
    speeds, limits = s.view.resources(speed), s.view.resource(speed)
    busiest = np.full(len(s.view.hosts), np.nan)
    for counter in counters:
        of = s.view.resources(counter)
        here, there = of.shared_with(speeds)
        use = ratio_of(s.view.resource(counter)[here], limits[there])
        busiest = np.fmax(busiest, s.view.largest_by_host(use, of.hosts[here]))
    return busiest


@_needs("tcp_sent_segments_total")
def _retransmitted(s: Sources) -> Floats:
    sent = s.rates.host("tcp_sent_segments_total")
    return np.where(sent >= 50, ratio_of(s.rates.host("tcp_retransmitted_segments_total"), sent), 0.0 * sent)


@_needs("numa_remote_pages_total")
def _remote_pages(s: Sources) -> Floats:
    """Return the share of new pages from a different node than the one the process runs on, if there are many."""
    found = {}
    for name in ("local", "remote"):
        metric = f"numa_{name}_pages_total"
        found[name] = s.view.sum_by_host(s.rates.resource(metric), s.view.resources(metric).hosts)
    every = found["local"] + found["remote"]
    return np.where(every >= 1000, ratio_of(found["remote"], every), 0.0 * every)


def _of_mains(metric: str, **where: str) -> SignalReader:
    """Read the rate of a counter of trainings for each main process; for seconds, their share of the time."""

    def read(s: Sources) -> Floats:
        return ratio_of(s.rates.host(metric, **where), s.view.host("training_processes"))

    return SignalReader((metric,), read)


@_needs("training_sent_segments_total")
def _lost_segments(s: Sources) -> Floats:
    """Return the segments of trainings that were sent again or arrived out of order, for each one that they send."""
    sent = s.rates.host("training_sent_segments_total")
    lost = s.rates.host("training_retransmitted_segments_total") + s.rates.host("training_disordered_segments_total")
    return np.where(sent > 0, ratio_of(lost, sent), 0.0 * sent)


@_needs("gpu_memory_used_bytes")
def _gpu_busy(s: Sources) -> Floats:
    """Return the utilisation of the GPUs of a host with memory in use, as in training."""
    view = s.view
    held = view.gpu("gpu_memory_used_bytes") > HELD_BYTES
    busy = np.where(held, view.gpu("gpu_utilization_ratio"), np.nan)
    counts = view.sum_by_host(np.where(np.isnan(busy), np.nan, 1.0), view.gpus.hosts)
    return ratio_of(view.sum_by_host(busy, view.gpus.hosts), counts)


WAITS = ("disk", "remote", "memory", "socket", "poll", "process", "other")
"""What the main thread of a training waits for, as the agent's metrics name it."""

HELD_BYTES = 1.5 * 2**30
"""A GPU with more memory in use than this is held: contexts of idle services take a few hundred MiB."""

SIGNALS: tuple[Signal, ...] = (
    # processor
    Signal("cpu_busy", "utilisation of all CPUs", _host("cpu_busy_ratio")),
    Signal("cpu_some", "CPU pressure: share of time in which some task waited for a CPU", _pressure("cpu", "some")),
    Signal("demand", "runnable tasks for each CPU", _demand),
    Signal("throttled", "share of periods in which the control group's CPU limit throttled it", _throttled),
    Signal("threads", "hardware threads", _host("cpu_threads_online")),
    # memory
    Signal("memory_used", "share of memory used", _host("memory_used_ratio")),
    Signal("memory_some", "memory pressure: some task waited", _pressure("memory", "some")),
    Signal("memory_full", "memory pressure: all waited", _pressure("memory", "full")),
    Signal("swap_in", "bytes a second read from swap", _host("swap_in_bytes_total")),
    Signal("swap_out", "bytes a second written to swap", _host("swap_out_bytes_total")),
    Signal("major_faults", "major page faults a second", _host("memory_major_faults_total")),
    Signal("reclaimed", "pages a second scanned by direct reclaim",
           _rate("reclaim_direct_pages_total")),
    # disks
    Signal("io_some", "I/O pressure: some task waited", _pressure("io", "some")),
    Signal("io_full", "I/O pressure: all waited", _pressure("io", "full")),
    Signal("blocked", "tasks waiting for a disk", _host("tasks_blocked")),
    Signal("disk_busy", "share of time in which the busiest disk was busy", _disk_busy),
    Signal("disk_queue", "mean queue of the busiest disk", _disk_queue),
    Signal("disk_latency", "seconds for each disk operation", _disk_latency),
    Signal("disk_read", "bytes a second read", _sum("disk_read_bytes_total")),
    Signal("disk_written", "bytes a second written", _sum("disk_written_bytes_total")),
    # networks
    Signal("latency", "round trip to the farthest target, without rare outliers", _latency, median=True),
    Signal("answer", "work of the slowest target for an answer, without rare outliers", _answer, median=True),
    Signal("mixed_latency", "slowest request to a target, network and service together", _mixed_latency, median=True),
    Signal("link_use", "utilisation of the busiest network link", _link_use),
    Signal("fabric_use", "utilisation of the busiest InfiniBand port", _fabric_use),
    Signal("retransmitted", "share of TCP segments retransmitted", _retransmitted),
    Signal("segments", "TCP segments sent a second", _rate("tcp_sent_segments_total")),
    Signal("remote_pages", "share of new memory pages from another node", _remote_pages, times=4),
    # accelerators
    Signal("gpu_busy", "mean utilisation of the GPUs with memory in use", _gpu_busy, times=2),
    # trainings, as the kernel sees them: shares of the time of main threads, and of workers for each main thread
    Signal("main_run", "share of time in which a training runs", _of_mains("training_run_seconds_total")),
    Signal("main_delay", "share of time in which it waits for a CPU", _of_mains("training_delay_seconds_total")),
    *(Signal(f"main_{what}", f"share of time in which it waits: {what}",
             _of_mains("training_wait_seconds_total", what=what)) for what in WAITS),
    Signal("main_cores", "cores that its main process uses", _of_mains("training_cpu_seconds_total")),
    Signal("worker_cores", "cores that its workers use", _of_mains("training_worker_cpu_seconds_total")),
    Signal("worker_delay", "time in which its workers wait for a CPU",
           _of_mains("training_worker_delay_seconds_total")),
    *(Signal(f"worker_{what}", f"time in which its workers wait: {what}",
             _of_mains("training_worker_wait_seconds_total", what=what)) for what in WAITS),
    Signal("calls", "segments with data that trainings send a second", _rate("training_sent_segments_total")),
    Signal("received", "bytes that trainings receive a second", _rate("training_received_bytes_total")),
    Signal("lost_segments", "segments of trainings lost for each one sent", _lost_segments),
    Signal("trip", "round trip of the trainings' connections", _host("training_round_trip_seconds"), median=True),
    Signal("least_trip", "shortest round trip of minutes", _host("training_least_round_trip_seconds")),
    # steps
    Signal("data_share", "share of the step time spent waiting for input", _step("data")),
    Signal("service_share", "share spent in calls to services", _step("service")),
    Signal("communication_share", "share spent in collectives", _step("communication")),
    Signal("checkpoint_share", "share spent writing checkpoints", _step("checkpoint"), times=24),
    Signal("sync_share", "share in which the host waits for the GPU", _step("sync"), times=4),
    Signal("compute_seconds", "computing time of a step", _step("compute_seconds")),
    Signal("data_seconds", "time of a step spent waiting for input", _step("data_seconds")),
    Signal("service_seconds", "time of a step spent in calls", _step("service_seconds")),
)  # fmt: skip
