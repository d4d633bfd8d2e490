"""Memory and disks that run out, leak or slow down work."""

import re

from flyball_collector.advice.advice import Effort, Safety
from flyball_collector.advice.rule import AdviceDraft, Rule, share
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event


def _where(events: tuple[Event, ...], *, gpu: bool) -> tuple[Event, ...]:
    return tuple(event for event in events if bool(event.subject.gpu) is gpu)


def find_checkpoint_now(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise a checkpoint before something ends or damages the run."""
    events = s.events("memory_exhaustion", "thermal_slowdown", "power_brake", "gpu_ecc")
    first = min(events, key=lambda event: event.seconds_left if event.seconds_left is not None else 0.0)
    return AdviceDraft(
        because=s.reason_of(first, events),
        change="write a checkpoint at the next step boundary",
        caution="keep older checkpoints: memory errors may corrupt the newest",
    )


def find_shrink_micro_batch(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise half the micro-batch with twice the accumulation: half the activations, the same global batch."""
    events = _where(s.events("memory_exhaustion"), gpu=True)
    if not events:
        return None
    return AdviceDraft(
        because=f"memory of {s.subject_words(events)} will run out",
        change="halve the micro-batch and double the accumulation, on all ranks at the same step",
        proposed={"micro_batch_factor": 0.5, "accumulation_factor": 2.0},
        events=events,
        caution="results stay equal only if the loss is normalised over all tokens and there is no batch norm",
    )


def find_defragment(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise against fragmentation if the allocator holds much memory that it cannot use."""
    events = _where(s.events("memory_exhaustion"), gpu=True)
    reserved, allocated = s.reserved_peak_bytes, s.allocated_peak_bytes
    if not events or reserved is None or allocated is None or not reserved or 1 - allocated / reserved <= 0.1:
        return None
    split = 1 - allocated / reserved
    return AdviceDraft(
        because=f"{share(split)} of the memory reserved by the allocator is unused at its peak",
        evidence={"unused_reserved_ratio": split, "reserved_peak_bytes": reserved},
        change="run the longest sequences in the first step; at the next start, enable expandable segments",
        events=events,
        confidence=0.6,
    )


def find_stop_gpu_leak(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise how to find a leak of GPU memory."""
    events = _where(s.events("memory_leak"), gpu=True)
    if not events:
        return None
    return AdviceDraft(
        because=s.first_reason(events),
        change="look for tensors that keep their graph: use `loss.detach()` in `total += loss` and in lists of outputs",
        events=events,
    )


def find_recycle_workers(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise how to limit a leak of host memory."""
    events = _where(s.events("memory_leak"), gpu=False)
    if not events:
        return None
    return AdviceDraft(
        because=s.first_reason(events),
        change="restart the loader workers in each epoch (persistent_workers=False), and look for data that they keep",
        events=events,
        caution="forked workers copy pages when they touch Python objects: this looks like a leak but levels off",
    )


def find_ease_memory(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise less memory use if the host has too little memory."""
    kinds = ("memory_pressure", "bottleneck_memory", "bottleneck_swap")
    kills = tuple(event for event in s.events("oom_kill") if event not in _at_a_limit(s))
    events = (*s.events(*kinds), *kills, *_where(s.events("memory_exhaustion"), gpu=False))
    if not events:
        return None
    available = s.memory_available_bytes
    free = "" if available is None else f"; memory available: {available / 1e9:.1f} GB"
    return AdviceDraft(
        because=", ".join(sorted({e.kind.name.replace("_", " ") for e in events})) + free,
        evidence={"memory_available_bytes": available, "workers": None if s.workers is None else float(s.workers)},
        change="use fewer loader workers or a shorter prefetch from the next epoch; enlarge /dev/shm if it is full",
        events=events,
    )


def find_raise_limit(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise a higher limit if a control group's limit killed a process. More memory of the host would not help."""
    events = _at_a_limit(s)
    if not events:
        return None
    reason = events[0].because
    owner = found.group(1) if (found := _OWNER.search(reason)) else "the group"
    raised = next((change for part, change in _LIMITS if part in reason), "raise the limit (`memory.max`) of {}")
    return AdviceDraft(
        because=s.first_reason(events),
        evidence={name: events[0].evidence.get(name) for name in ("limit_bytes", "used_bytes")},
        change=f"{raised.format(owner)}, or use fewer loader workers and a shorter prefetch there",
        events=events,
    )


_LIMITS = (
    ("Slurm job", "give {} more memory (`--mem` or `--mem-per-gpu`)"),
    ("pod ", "raise memory limit and request of {} (`resources.limits.memory`, `resources.requests.memory`)"),
    (".service", "raise `MemoryMax=` of {}"),
    ("container ", "raise the memory limit of {} (`--memory`)"),
)
"""How a limit is raised, by the owner of the group as the condition names it."""

_OWNER = re.compile(r"\(“([^”]+)”\)")
"""The owner. It is named because the job may be another one than the run that shows the advice."""


def _at_a_limit(s: Situation) -> tuple[Event, ...]:
    return tuple(event for event in s.events("oom_kill") if event.evidence.get("limit_of_a_group") == 1)


def find_free_disk(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise to free space on a file system that fills up."""
    events = s.events("disk_full")
    return AdviceDraft(
        because=s.first_reason(events),
        change="delete old checkpoints and logs, or keep fewer of them; a checkpoint that is cut off cannot be used",
        caution="keep the newest checkpoint that is known to be complete",
    )


RULES = (
    Rule(
        name="checkpoint_now",
        description="The run may end or slow down soon.",
        kinds=("memory_exhaustion", "thermal_slowdown", "power_brake", "gpu_ecc"),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="NVIDIA/nvidia-resiliency-ext; leptonai/gpud",
        find=find_checkpoint_now,
    ),
    Rule(
        name="shrink_micro_batch",
        description="A GPU's memory will run out.",
        kinds=("memory_exhaustion",),
        effort=Effort.SETTING,
        safety=Safety.CONSENT,
        source="DeepSpeed's configuration (train batch = micro-batch × accumulation × ranks)",
        find=find_shrink_micro_batch,
        changes_results=True,  # unless conditions hold that are unknown here
    ),
    Rule(
        name="defragment_memory",
        description="The GPU allocator holds much memory that it cannot use.",
        kinds=("memory_exhaustion",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="torch.cuda.memory_stats; the PyTorch notes on memory management",
        find=find_defragment,
    ),
    Rule(
        name="stop_gpu_leak",
        description="A GPU's memory grows steadily.",
        kinds=("memory_leak",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="the PyTorch FAQ (history across the training loop)",
        find=find_stop_gpu_leak,
    ),
    Rule(
        name="recycle_workers",
        description="The host's memory grows steadily.",
        kinds=("memory_leak",),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="the PyTorch documentation of data loaders (copy on write)",
        find=find_recycle_workers,
    ),
    Rule(
        name="ease_memory",
        description="The host has too little memory.",
        kinds=("memory_pressure", "bottleneck_memory", "bottleneck_swap", "oom_kill", "memory_exhaustion"),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="systemd's oomd.conf(5); Linux kernel, accounting/psi",
        find=find_ease_memory,
    ),
    Rule(
        name="raise_memory_limit",
        description="A control group has reached its memory limit: that of a job, pod, container or service.",
        kinds=("oom_kill",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="Linux kernel, admin-guide/cgroup-v2 (memory.events); the Slurm, Kubernetes and systemd manuals",
        find=find_raise_limit,
    ),
    Rule(
        name="free_disk",
        description="A file system fills up.",
        kinds=("disk_full",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="the node-exporter mixin",
        find=find_free_disk,
    ),
)
