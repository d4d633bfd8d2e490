"""Input: storage, preprocessing and loader workers."""

from flyball_collector.advice.advice import Effort, Gain, Safety
from flyball_collector.advice.amdahl import removal
from flyball_collector.advice.rule import AdviceDraft, Rule, share, shares
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.advice.workers import more_workers

_BUSY = 0.9
_OTHERS_OF_CORES = 0.25
_OTHERS_OF_USED = 0.4  # of the busy CPUs: with less, the training itself is what keeps them busy


def _waiting(s: Situation, settings: AdviceSettings) -> Gain | None:
    """Return the gain of ending the wait for input, if the wait is long enough."""
    found = s.recoverable(s.data_wait_share)
    return removal(found) if found is not None and found >= settings.data_wait_share else None


def find_more_workers(s: Situation, settings: AdviceSettings) -> AdviceDraft | None:
    """Advise more loader workers if CPU and disks have capacity and the workers fit into memory."""
    gain, found = _waiting(s, settings), more_workers(s, settings)
    saturated = s.disk_busy_share is not None and s.disk_busy_share >= _BUSY
    if gain is None or found is None or saturated:
        return None
    added, room = found
    basis = "assumed" if room.assumed else "measured"
    return AdviceDraft(
        because=shares(
            ("{} of each step waits for input", s.data_wait_share), ("the CPU is {} busy", s.cpu_busy_share)
        ),
        evidence={"data_wait_ratio": s.data_wait_share, "cpu_busy_ratio": s.cpu_busy_share},
        change=(
            f"add up to {added} loader workers from the next epoch; start with two, stop if steps get no faster; each "
            f"needs {room.memory_bytes / 1e9:.1f} GB RAM and {room.shared_bytes / 1e9:.2f} GB in /dev/shm ({basis})"
        ),
        proposed={
            "workers_added": added,
            "memory_bytes": added * (room.memory_bytes + room.shared_bytes),
            "shared_memory_bytes": added * room.shared_bytes,
        },
        gain=gain,
        caution="a different number of workers may change the order of random augmentations",
    )


def find_faster_storage(s: Situation, settings: AdviceSettings) -> AdviceDraft | None:
    """Advise faster storage if input waits for the disk."""
    gain = _waiting(s, settings)
    if not s.trains or (gain is None and s.gpus):
        return None  # the wait costs no GPU time
    stalled = s.io_stalled_share if s.io_stalled_share is not None else s.evidence("io_pressure_full_ratio")
    return AdviceDraft(
        because=shares(
            ("all tasks stalled for I/O {} of the time", stalled), ("the disk is {} busy", s.disk_busy_share)
        )
        or s.first_reason(s.events("bottleneck_disk")),
        evidence={
            "io_stalled_ratio": stalled,
            "disk_busy_ratio": s.disk_busy_share,
            "data_wait_ratio": s.data_wait_share,
        },
        change="cache the data on local NVMe, or pack small files into larger shards that are read sequentially",
        gain=gain,
        caution="packing keeps the order of samples only if the same index is shuffled",
    )


def find_cheaper_preprocessing(s: Situation, settings: AdviceSettings) -> AdviceDraft | None:
    """Advise cheaper preprocessing if input waits for the CPU: more workers would not help."""
    gain = _waiting(s, settings)
    no_loss = gain is None and s.gpus  # the wait costs no GPU time
    if not s.trains or no_loss or s.cpu_busy_share is None or s.cpu_busy_share < 0.8:
        return None
    steps = "" if s.data_wait_share is None else f" while {share(s.data_wait_share)} of each step waits for input"
    return AdviceDraft(
        because=f"the CPU is {share(s.cpu_busy_share)} busy{steps}",
        evidence={"cpu_busy_ratio": s.cpu_busy_share, "data_wait_ratio": s.data_wait_share},
        change="preprocess the data once and store the result, use cheaper transforms, or move them to the GPU",
        gain=gain,
        caution="transforms on the GPU may round differently; also check CPU affinity and the cgroup limit",
    )


def find_free_cpus(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise to free the CPUs if it is other programs that keep them busy: the training's own work is not too much."""
    own, others = s.own_cores, s.other_cores
    if not s.trains or own is None or others is None or s.cores is None:
        return None
    if others < _OTHERS_OF_CORES * s.cores or others < _OTHERS_OF_USED * (own + others):
        return None
    ready = s.recoverable(s.ready_share)
    waited = "" if s.ready_share is None else f"; it waited for a CPU {share(s.ready_share)} of the time"
    return AdviceDraft(
        because=f"other programs use {others:.1f} of {s.cores:g} CPUs, the training {own:.1f}{waited}",
        evidence={"other_cores": others, "own_cores": own, "ready_ratio": s.ready_share},
        change="stop the other programs or move them to another machine, or reserve CPUs for the training (a cpuset)",
        gain=None if ready is None else removal(ready),
    )


def find_resize_workers(s: Situation, settings: AdviceSettings) -> AdviceDraft | None:
    """Advise fewer workers if there are more than twice as many as cores. (For too few, see `more_workers`.)"""
    if s.workers is None or s.cores is None or s.workers <= 2 * s.cores:
        return None
    aim = max(1, min(int(s.cores), settings.most_workers * max(s.gpus, 1)))
    return AdviceDraft(
        because=f"{s.workers} loader workers on {s.cores:g} cores",
        evidence={"workers": float(s.workers), "cores": s.cores},
        change=f"use {aim} loader workers from the next epoch",
        proposed={"workers": aim},
        confidence=0.6,
    )


_WAIT_SOURCES = "pytorch/kineto's profiler advice (data loading above 5 %); TensorFlow's data performance guide"

RULES = (
    Rule(
        name="more_workers",
        description="Steps wait for input although CPU and disks have capacity.",
        kinds=("bottleneck_data_wait",),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source=_WAIT_SOURCES,
        find=find_more_workers,
        yields_to=("faster_storage", "cheaper_preprocessing", "batch_calls", "parallel_workers", "resize_workers"),
    ),
    Rule(
        name="faster_storage",
        description="Input waits for disks.",
        kinds=("bottleneck_disk",),
        effort=Effort.REWORK,
        safety=Safety.ADVISE,
        source="Linux kernel, accounting/psi; arXiv 2007.06775 (data stalls)",
        find=find_faster_storage,
    ),
    Rule(
        name="cheaper_preprocessing",
        description="Input waits for the CPU.",
        kinds=("bottleneck_cpu",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="smdebug's profiler rule on CPU bottlenecks; arXiv 2007.06775 (data stalls)",
        find=find_cheaper_preprocessing,
        yields_to=("free_cpus",),
    ),
    Rule(
        name="free_cpus",
        description="Other programs keep the CPUs busy.",
        kinds=("bottleneck_cpu",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="Linux manual pages cpuset(7) and sched(7)",
        find=find_free_cpus,
    ),
    Rule(
        name="resize_workers",
        description="There are many more loader workers than cores.",
        kinds=("bottleneck_cpu", "bottleneck_data_wait", "memory_pressure"),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="smdebug's profiler rule on data loaders; the PyTorch data loading tutorial",
        find=find_resize_workers,
    ),
)
