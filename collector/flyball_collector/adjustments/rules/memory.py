"""Memory of a rank: micro-batch, explicit reduction, activation checkpointing."""

from collections.abc import Iterator, Sequence

from flyball_collector.adjustments.declared.declared_values import SharedValue, number_of
from flyball_collector.adjustments.rules.memory_scaling import fixed_bytes, predict_peak
from flyball_collector.adjustments.rules.rule import AdjustmentRule, RuleChange, gigabytes, percent
from flyball_collector.adjustments.rules.run_case import RunCase
from flyball_collector.adjustments.rules.thresholds import MEMORY
from flyball_collector.adjustments.situation.run_situation import MemoryFault, RunSituation
from flyball_collector.advice.amdahl import removal
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.number_format import duration

FAULT_SECONDS = 600.0
"""How long an out-of-memory error is a reason to change something."""

QUIET_SECONDS = 3600.0
"""Time without an out-of-memory error and without a memory forecast before more memory is used again."""

SETTLED_HOURS = 1.0 / 6.0
"""Age of a run from which on its peak counts: by then, most have evaluated and met their longest samples."""

SMALLER_SLICES = (0.9, 1.0)
"""Expected speed with half the micro-batch: more and smaller kernels for the same work. An assumption."""

RECOMPUTED = (0.7, 0.9)
"""Expected speed with activation checkpointing: the forward pass, a third of the work, is done twice (arXiv
1604.06174), partly hidden."""

STORED_AGAIN = 17.0
"""Activations without checkpointing are at most this many times as large: 34 instead of 2 bytes for each token and
hidden unit of a transformer layer (arXiv 2205.05198, with flash attention)."""

_FROM_MEMORY = ("memory_exhaustion", "memory_leak", "oom_kill", "memory_pressure")


def exhaustion(s: RunSituation) -> tuple[Event, ...]:
    """Return the forecasts about the memory that a rank's activations use: its GPU's; on a CPU, the host's."""
    return tuple(event for event in s.events("memory_exhaustion") if bool(event.subject.gpu) is bool(s.gpus))


def left(events: Sequence[Event]) -> str:
    """Return when the first of some forecasts comes true, for people."""
    seconds = min((event.seconds_left for event in events if event.seconds_left is not None), default=None)
    if seconds is None:
        return "soon"
    return f"in about {duration(seconds)}" if seconds >= 1 else "now"


def new_faults(case: RunCase, value: SharedValue) -> list[MemoryFault]:
    """Return the out-of-memory errors of the last minutes to which no change of a value has reacted."""
    last = case.last(value.name)
    since = case.situation.now_ns - int(FAULT_SECONDS * 1e9)
    since = max(since, last.changed_ns if last is not None else since)
    return [fault for fault in case.situation.faults if fault.time_ns > since]


def is_quiet(case: RunCase) -> bool:
    """Return True if memory has been no problem for long, and the run is old enough to have shown its peak."""
    if (case.situation.hours or 0.0) < SETTLED_HOURS:
        return False
    recent = case.situation.now_ns - int(QUIET_SECONDS * 1e9)
    return not case.situation.has(*_FROM_MEMORY) and all(fault.time_ns < recent for fault in case.situation.faults)


def find_shrink_after_fault(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose the smaller micro-batch on all ranks after one of them ran out of memory: a lone one is a straggler."""
    if value.differs:
        smallest = min(number_of(each) for each in value.by_rank.values())
        ranks = [rank for rank, each in value.by_rank.items() if number_of(each) == smallest]
        to = value.choice(smallest)
        words = f"rank {ranks[0]}" if len(ranks) == 1 else f"{len(ranks)} ranks"
        because = f"{words} of {case.world_size} ran out of memory and changed to {smallest:g}; the others wait for it"
        return None if to is None else RuleChange(to=to, because=because, gain=SMALLER_SLICES)
    faults = [fault for fault in new_faults(case, value) if fault.name != value.name]
    smaller = value.at_most(value.number / 2.0) or value.below(value.number)
    if not faults or not smaller:
        return None
    to = value.choice(smaller)
    because = f"rank {faults[-1].rank} ran out of memory {faults[-1].where and 'in ' + faults[-1].where}".rstrip()
    return None if to is None else RuleChange(to=to, because=because, gain=SMALLER_SLICES)


def find_shrink(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose half the micro-batch if memory is forecast to run out."""
    events = case.unanswered(exhaustion(case.situation), value.name)
    smaller = value.at_most(value.number / 2.0) or value.below(value.number)
    to = value.choice(smaller) if events and smaller else None
    if to is None:
        return None
    because = f"memory of {events[0].words()} is forecast to run out {left(events)}"
    return RuleChange(to=to, because=because, gain=SMALLER_SLICES, events=events)


def find_grow(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose a larger micro-batch at the same global batch if the GPU idles between kernels and memory is free."""
    s = case.situation
    events = s.events("bottleneck_small_batch", "bottleneck_host")
    larger = value.above(value.number)
    if not events or larger is None or larger > 2.0 * value.number or value.differs or not is_quiet(case):
        return None
    failed = [number_of(fault.value_from or 0) for fault in s.faults if fault.name == value.name]
    to = value.choice(larger)
    if to is None or any(larger >= size for size in failed if size > 0):
        return None
    idle = None if s.gpu_busy_share is None else max(0.0, 1.0 - s.gpu_busy_share)
    gain = (1.0, 1.5) if idle is None else (1.0, max(1.1, removal(idle, (0.0, 0.9)).upper))
    busy = "" if s.gpu_busy_share is None else f"; the GPUs are {percent(s.gpu_busy_share)} busy"
    return RuleChange(to=to, because=f"{events[0].because or events[0].kind.meaning}{busy}", gain=gain, events=events)


def peak_share(case: RunCase) -> float | None:
    """Return the highest share of a GPU's memory that a rank may use at its peak with the present micro-batch."""
    s, micro = case.situation, case.of("micro_batch")
    if s.peak_bytes is None or not s.memory_total_bytes:
        return None
    facts = case.peak(micro) if micro is not None else None
    peak = predict_peak(facts, micro.number).high if facts is not None and micro is not None else s.peak_bytes
    return peak / s.memory_total_bytes


def find_reduce_explicitly(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose one explicit reduction near the memory limit: then a rank that runs out of memory can repeat its step."""
    if value.now is not False or case.world_size < 2:
        return None
    because = next(_nearness(case, value), "")
    return RuleChange(to=True, because=because, gain=(0.9, 1.0)) if because else None


def _nearness(case: RunCase, value: SharedValue) -> Iterator[str]:
    """Yield why a rank may soon run out of memory. Against a forecast, the smaller micro-batch comes first."""
    used, faults, events = peak_share(case), new_faults(case, value), exhaustion(case.situation)
    if faults:
        yield f"rank {faults[-1].rank} ran out of memory"
    if used is not None and used >= MEMORY.enter:
        yield f"a rank uses up to {percent(used)} of its GPU"
    micro = case.of("micro_batch")
    if events and micro is not None and not case.unanswered(events, micro.name):
        yield f"memory of {events[0].words()} is still forecast to run out, with a smaller micro-batch too"


def find_reduce_overlapped(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose the overlapped reduction again if the memory limit is far."""
    used = peak_share(case)
    if value.now is not True or used is None or used > MEMORY.leave or not is_quiet(case):
        return None
    return RuleChange(to=False, because=f"a rank uses at most {percent(used)} of its GPU", gain=(1.0, 1.1))


def find_checkpoint_activations(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose activation checkpointing if memory runs out and no smaller micro-batch can prevent it."""
    if value.now is not False:
        return None
    events, faults = case.unanswered(exhaustion(case.situation), value.name), new_faults(case, value)
    if not (events or faults) or not _is_smallest_too_large(case):
        return None
    what = f"memory is forecast to run out {left(events)}" if events else f"rank {faults[-1].rank} ran out of memory"
    return RuleChange(
        to=True, because=f"{what}, and a smaller micro-batch cannot prevent it", gain=RECOMPUTED, events=events
    )


def _is_smallest_too_large(case: RunCase) -> bool:
    """Return True if the micro-batch cannot be made smaller, or if even the smallest one is predicted not to fit."""
    micro, total = case.of("micro_batch"), case.situation.memory_total_bytes
    if micro is None or micro.blocked or micro.below(micro.number) is None:
        return True
    facts = case.peak(micro)
    smallest = micro.numbers[0]
    return facts is not None and total is not None and predict_peak(facts, smallest).low > MEMORY.enter * total


def find_store_activations(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose to store activations again if the GPU computes all the time and all of them fit."""
    s = case.situation
    events = s.events("bottleneck_gpu_compute")
    peak = _peak_of_all_activations(case, value)
    if value.now is not True or not events or peak is None or not s.memory_total_bytes or not is_quiet(case):
        return None
    if peak > MEMORY.leave * s.memory_total_bytes:
        return None
    return RuleChange(
        to=False,
        because=f"the GPU computes all the time, and all activations fit: at most {gigabytes(peak)}",
        gain=(1.0, 1.0 / RECOMPUTED[0]),
        predicted={"peak_bytes_high": peak},
        events=events,
    )


def _peak_of_all_activations(case: RunCase, value: SharedValue) -> float | None:
    """Return the highest peak without checkpointing: the one measured before it was enabled, or a cautious multiple."""
    last = case.last(value.name)
    if last is not None and last.value_to is True and last.attempt == case.run.attempt:
        return None if last.effect is None or last.effect.peak_bytes_before is None else last.effect.peak_bytes_before
    peak, micro = case.situation.peak_bytes, case.of("micro_batch")
    if peak is None:
        return None
    fixed = min(fixed_bytes(micro), peak)
    return fixed + STORED_AGAIN * (peak - fixed)


RULES = (
    AdjustmentRule(
        name="shrink_after_out_of_memory",
        lever="micro_batch",
        evidence="a rank ran out of memory, and changed its micro-batch or not",
        change="the smaller micro-batch on all ranks, with more accumulation",
        inverse="`grow_micro_batch`",
        safety=2,
        source="this project's measurements: a rank with smaller slices is a straggler",
        find=find_shrink_after_fault,
        hold_seconds=5.0,
        protects=True,
    ),
    AdjustmentRule(
        name="shrink_micro_batch",
        lever="micro_batch",
        evidence="`memory_exhaustion` of a GPU of the run; of the host, if the run trains on CPUs",
        change="half the micro-batch, twice the accumulation",
        inverse="`grow_micro_batch`",
        safety=2,
        source="DeepSpeed's configuration (train batch = micro-batch × accumulation × ranks)",
        find=find_shrink,
        hold_seconds=5.0,
        protects=True,
    ),
    AdjustmentRule(
        name="grow_micro_batch",
        lever="micro_batch",
        evidence=(
            "`bottleneck_small_batch` or `bottleneck_host`, no memory problem for an hour, and by prediction 10 % of "
            "the GPU's memory stay free"
        ),
        change="the next larger micro-batch, at most twice, with less accumulation",
        inverse="`shrink_micro_batch`; rolled back if it does harm",
        safety=2,
        source="smdebug's profiler rule on batch size; DeepSpeed autotuning",
        find=find_grow,
        hold_seconds=60.0,
    ),
    AdjustmentRule(
        name="reduce_explicitly",
        lever="explicit_reduction",
        evidence=(
            "the peak of a rank reaches 90 % of its GPU, a rank ran out of memory, or a forecast stays after the "
            "micro-batch was reduced"
        ),
        change="slices without collectives and one explicit reduction, so that a rank can repeat its step",
        inverse="`reduce_overlapped`",
        safety=1,
        source="this project's measurements: losses equal to 2e-16 after an error in the backward pass",
        find=find_reduce_explicitly,
        hold_seconds=5.0,
        protects=True,
    ),
    AdjustmentRule(
        name="reduce_overlapped",
        lever="explicit_reduction",
        evidence="the peak of a rank is below 75 % of its GPU, and no memory problem for an hour",
        change="reduction of gradients during the backward pass again",
        inverse="`reduce_explicitly`",
        safety=1,
        source="PyTorch's documentation of DistributedDataParallel",
        find=find_reduce_overlapped,
        hold_seconds=60.0,
    ),
    AdjustmentRule(
        name="checkpoint_activations",
        lever="activation_checkpointing",
        evidence="memory runs out, and the micro-batch is the smallest one or even that is predicted not to fit",
        change="recompute activations in the backward pass",
        inverse="`store_activations`",
        safety=2,
        source="arXiv 1604.06174 (sublinear memory cost)",
        find=find_checkpoint_activations,
        hold_seconds=5.0,
        protects=True,
    ),
    AdjustmentRule(
        name="store_activations",
        lever="activation_checkpointing",
        evidence="`bottleneck_gpu_compute`, no memory problem for an hour, all activations fit into 75 % of the GPU",
        change="store activations instead of recomputing them",
        inverse="`checkpoint_activations`",
        safety=2,
        source="arXiv 2205.05198 (memory of activations)",
        find=find_store_activations,
        hold_seconds=120.0,
    ),
)
