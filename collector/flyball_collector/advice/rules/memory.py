"""Memory that runs out, leaks, or makes work wait."""

from flyball_collector.advice.advice import Effort, Safety
from flyball_collector.advice.rule import Draft, Rule, share
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.figures import duration


def _left(event: Event) -> str:
    if event.seconds_left is None:
        return "soon"
    return f"in about {duration(event.seconds_left)}" if event.seconds_left >= 1 else "now"


def _where(events: tuple[Event, ...], *, gpu: bool) -> tuple[Event, ...]:
    return tuple(event for event in events if bool(event.subject.gpu) is gpu)


def find_checkpoint_now(s: Situation, _: AdviceSettings) -> Draft | None:
    """Whatever happens, lose little."""
    events = s.events("memory_exhaustion", "thermal_slowdown", "power_brake", "gpu_ecc")
    first = min(events, key=lambda event: event.seconds_left if event.seconds_left is not None else 0.0)
    return Draft(
        because=s.words_of(first, events),
        evidence={"seconds_left": first.seconds_left},
        change="write a checkpoint at the next step boundary",
        caution="beside the ones there are: after memory errors the newest may be wrong",
    )


def find_shrink_micro_batch(s: Situation, _: AdviceSettings) -> Draft | None:
    """Half the activations, the same global batch."""
    events = _where(s.events("memory_exhaustion"), gpu=True)
    if not events:
        return None
    return Draft(
        because=f"memory of {s.about_words(events)} will be used up {_left(events[0])}",
        evidence={"seconds_left": events[0].seconds_left},
        change="halve the micro-batch and double the accumulation, on all ranks at the same step",
        proposed={"micro_batch_factor": 0.5, "accumulation_factor": 2.0},
        events=events,
        caution="equal results need a loss normalised over all tokens, no batch norm; never one rank alone",
    )


def find_defragment(s: Situation, _: AdviceSettings) -> Draft | None:
    """The allocator holds much that it cannot use."""
    events = _where(s.events("memory_exhaustion"), gpu=True)
    reserved, allocated = s.reserved_peak_bytes, s.allocated_peak_bytes
    if not events or reserved is None or allocated is None or not reserved or 1 - allocated / reserved <= 0.1:
        return None
    split = 1 - allocated / reserved
    return Draft(
        because=f"{share(split)} of what the allocator reserved is not allocated at its peak",
        evidence={"unused_reserved_ratio": split, "reserved_peak_bytes": reserved},
        change="run one step at the largest length first; at the next start, switch on expandable segments",
        events=events,
        confidence=0.6,
    )


def find_stop_gpu_leak(s: Situation, _: AdviceSettings) -> Draft | None:
    """A GPU's memory grows steadily."""
    events = _where(s.events("memory_leak"), gpu=True)
    if not events:
        return None
    return Draft(
        because=s.first_words(events),
        change="look for tensors kept with their graph: `total += loss` wants `loss.detach()`; so do lists of outputs",
        events=events,
    )


def find_recycle_workers(s: Situation, _: AdviceSettings) -> Draft | None:
    """The host's memory grows steadily."""
    events = _where(s.events("memory_leak"), gpu=False)
    if not events:
        return None
    return Draft(
        because=s.first_words(events),
        change="let loader workers end with each epoch (persistent_workers=False) and look for what they keep",
        events=events,
        caution="forked workers that touch Python objects copy pages: that looks like a leak and levels off",
    )


def find_ease_memory(s: Situation, _: AdviceSettings) -> Draft | None:
    """The host has too little memory for what runs on it."""
    kinds = ("memory_pressure", "bottleneck_memory", "bottleneck_swap", "oom_kill")
    events = (*s.events(*kinds), *_where(s.events("memory_exhaustion"), gpu=False))
    if not events:
        return None
    available = s.memory_available_bytes
    free = "unknown" if available is None else f"{available / 1e9:.1f} GB"
    return Draft(
        because=f"{', '.join(sorted({e.kind.name.replace('_', ' ') for e in events}))}; memory available: {free}",
        evidence={"memory_available_bytes": available, "workers": None if s.workers is None else float(s.workers)},
        change="use fewer loader workers or a shorter prefetch (from the next epoch); mount a full /dev/shm larger",
        events=events,
    )


def find_free_disk(s: Situation, _: AdviceSettings) -> Draft | None:
    """A file system fills up."""
    events = s.events("disk_full")
    return Draft(
        because=f"{events[0].subject.resource} is full {_left(events[0])}",
        evidence={"seconds_left": events[0].seconds_left},
        change="remove old checkpoints and logs, or keep fewer; a checkpoint that is cut off is no checkpoint",
        caution="keep the newest checkpoint that is known to be whole",
    )


RULES = (
    Rule(
        name="checkpoint_now",
        about="Something is about to end or slow the run.",
        kinds=("memory_exhaustion", "thermal_slowdown", "power_brake", "gpu_ecc"),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="NVIDIA/nvidia-resiliency-ext; leptonai/gpud",
        find=find_checkpoint_now,
    ),
    Rule(
        name="shrink_micro_batch",
        about="A GPU's memory will be used up.",
        kinds=("memory_exhaustion",),
        effort=Effort.SETTING,
        safety=Safety.CONSENT,
        source="DeepSpeed's configuration (train batch = micro-batch × accumulation × ranks)",
        find=find_shrink_micro_batch,
        changes_results=True,  # unless conditions hold that nobody can see from here
    ),
    Rule(
        name="defragment_memory",
        about="The GPU's allocator holds much that it cannot use.",
        kinds=("memory_exhaustion",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="torch.cuda.memory_stats; the PyTorch notes on memory management",
        find=find_defragment,
    ),
    Rule(
        name="stop_gpu_leak",
        about="A GPU's memory grows steadily.",
        kinds=("memory_leak",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="the PyTorch FAQ (history across the training loop)",
        find=find_stop_gpu_leak,
    ),
    Rule(
        name="recycle_workers",
        about="The host's memory grows steadily.",
        kinds=("memory_leak",),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="the PyTorch documentation of data loaders (copy on write)",
        find=find_recycle_workers,
    ),
    Rule(
        name="ease_memory",
        about="The host has too little memory.",
        kinds=("memory_pressure", "bottleneck_memory", "bottleneck_swap", "oom_kill", "memory_exhaustion"),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="systemd's oomd.conf(5); Linux kernel, accounting/psi",
        find=find_ease_memory,
    ),
    Rule(
        name="free_disk",
        about="A file system fills up.",
        kinds=("disk_full",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="the node-exporter mixin",
        find=find_free_disk,
    ),
)
