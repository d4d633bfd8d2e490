"""Training that waits for a service: fewer calls, a connection pool, parallel workers, batching in the server."""

from flyball_collector.advice.advice import Effort, Gain, Safety
from flyball_collector.advice.amdahl import removal
from flyball_collector.advice.levers import Levers, SampleTime, expect
from flyball_collector.advice.rule import AdviceDraft, Rule, share, shares
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.advice.workers import more_workers

_INTO = 4.0  # calls for each sample through a batch interface
_LEAST_SHARE = 0.2  # of the time spent in calls


def service_share(s: Situation) -> float | None:
    """Return the share of time spent in calls while GPUs idle."""
    measured = s.service_share if s.service_share is not None else s.evidence("service_ratio")
    if measured is None and s.has("bottleneck_service"):
        levels = [event.level for event in s.events("bottleneck_service") if event.level is not None]
        measured = max(levels, default=None)
    if measured is None and s.has("bottleneck_service", "bottleneck_network"):
        measured = s.data_wait_share  # the steps wait for input from there
    return s.recoverable(measured)


def levers(s: Situation, settings: AdviceSettings) -> Levers | None:
    """Return the gain of each lever for the measured shares; None if the share of the calls is unknown or small."""
    in_calls = service_share(s)
    if in_calls is None or in_calls < _LEAST_SHARE:
        return None
    connecting = in_calls * (s.pool_wait_share or 0.0)
    cores = s.cores or 1.0
    busy = 1.0 - in_calls if s.cpu_busy_share is None else min(1.0 - in_calls, s.cpu_busy_share * cores)
    time = SampleTime(in_calls - connecting, 0.0, connecting, busy, max(0.0, 1.0 - in_calls - busy))
    found = more_workers(s, settings)
    return expect(
        time,
        calls=s.calls_per_sample or 1.0,
        into=min(_INTO, s.calls_per_sample or 1.0),
        workers=1 + (found[0] if found else 0),
        cores=cores,
    )


def find_batch_calls(s: Situation, settings: AdviceSettings) -> AdviceDraft | None:
    """Advise sending the items of a sample in a few calls instead of many small ones."""
    found, calls = levers(s, settings), s.calls_per_sample
    if found is None or (calls is not None and calls < 2 * _INTO):
        return None
    count = "many small calls" if calls is None else f"{calls:.0f} calls"
    return AdviceDraft(
        because=shares(
            (f"{{}} of the time is spent in {count} for each sample, one after the other", service_share(s))
        ),
        evidence={"service_ratio": service_share(s), "calls_per_sample": calls, "call_seconds": s.call_seconds},
        change="send the items of a sample in 2 to 4 calls (a batch endpoint, a pipeline, a single query)",
        proposed={"calls_per_sample": _INTO},
        gain=found.batch_calls if calls is not None else removal(service_share(s) or 0.0, (0.25, 0.9)),
        caution=f"also raise the service's limits on request size and its timeouts{_together(found, s)}",
    )


def _together(found: Levers, s: Situation) -> str:
    """Describe the gain of all three levers if the calls were counted: computed in sequence, not multiplied."""
    if s.calls_per_sample is None:
        return ""
    low, high = found.together.lower, found.together.upper
    return f"; with a pool and parallel workers {low:.1f} to {high:.1f}× in all"


def find_tune_pool(s: Situation, settings: AdviceSettings) -> AdviceDraft | None:
    """Advise a connection pool if calls wait for a connection or open a new one each time."""
    found = levers(s, settings)
    fresh = s.connections_opened_per_second
    rate = None if not s.call_seconds else 1.0 / s.call_seconds
    opens_each = fresh is not None and rate is not None and fresh >= 0.5 * rate and fresh >= 1.0
    waits = s.pool_wait_share is not None and s.pool_wait_share >= 0.05
    if found is None or not (opens_each or waits):
        return None
    waiting = shares(("calls wait for a connection {} of their time", s.pool_wait_share))
    opened = "" if fresh is None else f"{fresh:.0f} connections are opened a second"
    return AdviceDraft(
        because="; ".join(filter(None, (waiting, opened))),
        evidence={"pool_wait_ratio": s.pool_wait_share, "connections_opened_per_second": fresh},
        change=(
            "keep as many connections open in a pool as there are calls in flight, growing it by a quarter at a time; "
            "enlarge the service's database cache and batch size; set timeouts to a few times the usual call"
        ),
        proposed={"pool_change_ratio": 0.25},
        gain=found.tune_pool if waits else Gain(1.0, 1.15),
        confidence=0.6,
    )


def find_parallel_workers(s: Situation, settings: AdviceSettings) -> AdviceDraft | None:
    """Advise parallel workers if the CPU is idle during calls."""
    idle = s.cpu_busy_share is not None and s.cpu_busy_share < settings.cpu_idle_share
    saturated = s.disk_busy_share is not None and s.disk_busy_share >= 0.9
    found, more = levers(s, settings), more_workers(s, settings)
    if not idle or saturated or found is None or more is None:
        return None
    added, room = more
    return AdviceDraft(
        because=shares(("the CPU is {} busy", s.cpu_busy_share), ("calls take {} of the time", service_share(s))),
        evidence={"cpu_busy_ratio": s.cpu_busy_share, "service_ratio": service_share(s), "cores": s.cores},
        change=(
            f"process samples with up to {added} more workers from the next epoch, each with its own session and "
            "connections; start with two and stop when the service's latency rises"
        ),
        proposed={
            "workers_added": added,
            "memory_bytes": added * (room.memory_bytes + room.shared_bytes),
            "shared_memory_bytes": added * room.shared_bytes,
        },
        gain=found.parallel_workers,
        caution="only if samples are independent; a saturated service gets slower",
    )


def find_serve_batches(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise batching in the server if calls wait in its queue."""
    queue = s.server_queue_share
    in_calls = service_share(s)
    if queue is None or in_calls is None or queue <= 0.2:
        return None
    return AdviceDraft(
        because=f"calls spend {share(queue)} of their time in the server's queue",
        evidence={"server_queue_ratio": queue, "service_ratio": in_calls},
        change="enable dynamic batching in the server; keep twice (largest batch × instances) calls in flight",
        gain=removal(in_calls * queue),
        confidence=0.6,
    )


RULES = (
    Rule(
        name="batch_calls",
        description="Many small calls to a service are made one after the other.",
        kinds=("bottleneck_service",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source=(
            "NVIDIA Triton's optimization guide (3.7×); gRPC batching measurements (9× to 66×); published for one "
            "project (4 to 7×)"
        ),
        find=find_batch_calls,
    ),
    Rule(
        name="tune_pool",
        description="Calls wait for connections.",
        kinds=("bottleneck_service", "bottleneck_network"),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,  # it is unknown whether the training owns the pool
        source="gRPC performance guide; HikariCP on pool sizing; published for one project (1.15×)",
        find=find_tune_pool,
    ),
    Rule(
        name="parallel_workers",
        description="The CPU is idle during calls.",
        kinds=("bottleneck_service", "bottleneck_network"),
        effort=Effort.CODE,
        safety=Safety.SAFE,
        source="arXiv 2211.04908 (concurrent loading); published for one project (2 to 3× with 4 to 8 workers)",
        find=find_parallel_workers,
    ),
    Rule(
        name="serve_batches",
        description="Calls wait in the server's queue.",
        kinds=("bottleneck_service",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="NVIDIA Triton's optimization guide",
        find=find_serve_batches,
    ),
)
