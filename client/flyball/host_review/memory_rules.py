"""Rules about memory and swap."""

from collections.abc import Iterator

from flyball.host_review.host_finding import DISK_NAMES, HostFinding, HostSituation, suggestion, warning
from flyball_reports.figures import duration, percent, plural, size

GIB = 2**30
SHARED = "/dev/shm"  # noqa: S108  only its name
SMALL_SHARED = GIB
"""Containers get 64 MiB by default (Docker, Kubernetes); a batch of 256 pictures of 224 × 224 in fp32 is 147 MiB."""

SLOW_SWAP_KINDS = frozenset({"hdd", "network"})
SWAPPED_SHARE = 0.05  # of the memory
USUAL_SWAPPINESS = 60  # the kernel's default
CALM_SWAPPINESS = 10
MODULE_KINDS = ("DDR3", "DDR4", "DDR5")  # LPDDR is soldered, with all its channels


def limited_memory(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a memory limit of the container below the machine's memory."""
    memory = situation.profile.memory
    limit, total = memory.limit_bytes, memory.total_bytes
    if not limit or not total or limit >= total:
        return
    yield warning(
        "memory-limit", 2, f"This container may use {size(limit)} of {size(total)}",
        "the kernel kills a process of the container at the limit, although the machine has free memory; "
        "`free` and most libraries show the machine's memory",
        "Plan with the limit, or raise it",
    )  # fmt: skip


def small_shared_memory(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a /dev/shm that data loader workers will fill."""
    memory = situation.profile.memory
    if memory.shared_memory_bytes is None or memory.shared_memory_bytes >= SMALL_SHARED:
        return
    inside = bool(situation.profile.limits.runtime)
    yield warning(
        "shared-memory", 3, f"{SHARED} has only {size(memory.shared_memory_bytes)}",
        "data loader workers pass their batches through it, and die with a bus error when it is full",
        "Start the container with more" if inside else "Mount it with more",
        effect="data loaders with several workers run",
        command="docker run --shm-size=8g …" if inside else f"mount -o remount,size=8G {SHARED}",
    )  # fmt: skip


def slow_swap(situation: HostSituation) -> Iterator[HostFinding]:
    """Find swap on a disk that is slow."""
    for swap in situation.profile.swaps:
        if swap.disk_kind not in SLOW_SWAP_KINDS:
            continue
        where = swap.device
        back = ""
        if swap.mb_per_second:
            typical = ", as is typical of its kind" if swap.speed_is_estimate else ""
            back = f"; 1 GiB takes at least {duration(GIB / (swap.mb_per_second * 1e6))}{typical}"
        yield warning(
            "slow-swap", 2, f"Swap is on {DISK_NAMES[swap.disk_kind]} ({where})",
            f"a training that is swapped out does not fail, but stops for minutes{back}",
            "Use compressed memory (zram) or an SSD for swap, or none",
            effect="too little memory shows as a clear error or a short delay",
            command=f"swapoff {swap.device}",
        )  # fmt: skip


def used_swap(situation: HostSituation) -> Iterator[HostFinding]:
    """Find swap in use: the memory is short now."""
    total = situation.profile.memory.total_bytes
    used = sum(each.used_bytes or 0 for each in situation.profile.swaps)
    if total and used > SWAPPED_SHARE * total:
        yield warning(
            "used-swap", 2, f"{size(used)} are swapped out",
            f"that is {percent(used / total)} of the memory; processes that need it again wait for the disk",
            "End programs that are not needed before a training starts",
        )  # fmt: skip


def eager_swapping(situation: HostSituation) -> Iterator[HostFinding]:
    """Find the default eagerness to swap together with swap on a disk."""
    profile = situation.profile
    on_disk = [each for each in profile.swaps if each.kind != "zram"]
    swappiness = profile.memory.swappiness
    if not on_disk or swappiness is None or swappiness < USUAL_SWAPPINESS or profile.limits.runtime:
        return
    yield suggestion(
        "swappiness", 1, f"The kernel swaps early (vm.swappiness is {swappiness})",
        f"swap is on {DISK_NAMES.get(on_disk[0].disk_kind or '', 'a disk')}; reading a large data set pushes idle "
        "pages of a training there",
        f"Set it to {CALM_SWAPPINESS}",
        effect="pages of data are dropped before pages of the training are written to disk",
        command=f"sysctl vm.swappiness={CALM_SWAPPINESS}",
    )  # fmt: skip


def small_pages(situation: HostSituation) -> Iterator[HostFinding]:
    """Find transparent huge pages switched off."""
    if situation.profile.memory.huge_pages == "never":
        yield suggestion(
            "huge-pages", 1, "Transparent huge pages are off",
            "large tensors on the processor then need 512 times as many page table entries",
            "Let programs ask for them",
            effect="fewer misses of the address cache in work on the processor",
            command="echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        )  # fmt: skip


def one_module(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a single memory module, which uses one of several channels."""
    profile = situation.profile
    memory = profile.memory
    if memory.modules == 1 and (memory.kind or "").upper().startswith(MODULE_KINDS) and not _virtual(situation):
        rate = f" at {memory.mega_transfers_per_second:,.0f} MT/s" if memory.mega_transfers_per_second else ""
        yield suggestion(
            "memory-channels", 2, "Only one memory module is installed",
            f"one {memory.kind} module{rate} uses one channel, and processors have at least two",
            "Add an equal module in the other channel",
            effect="up to twice the memory bandwidth, for loaders and for training on the processor",
        )  # fmt: skip


def less_than_gpus(situation: HostSituation) -> Iterator[HostFinding]:
    """Find less memory than the GPUs have."""
    profile = situation.profile
    usable = profile.memory.usable_bytes
    gpus = sum(each.memory_bytes or 0 for each in profile.gpus if not each.unified_memory)
    if usable and gpus > usable:
        yield suggestion(
            "memory-for-gpus", 2, f"The machine has less memory than its GPUs ({size(usable)} against {size(gpus)})",
            "a checkpoint that one process gathers, and offloaded optimizer states, pass through the machine's memory",
            "Write sharded checkpoints, and do not plan with offloading",
            effect="no process is killed while a checkpoint is gathered",
        )  # fmt: skip


def memory_errors(situation: HostSituation) -> Iterator[HostFinding]:
    """Find memory errors that could not be corrected."""
    errors = situation.profile.memory.uncorrected_errors
    if errors:
        yield warning(
            "memory-errors", 3, f"The memory had {plural(errors, 'uncorrected error')}",
            "counted by the memory controller since the machine started",
            "Find the module with `ras-mc-ctl --errors`, and replace it",
        )  # fmt: skip


def _virtual(situation: HostSituation) -> bool:
    return bool(situation.profile.limits.virtualization)


RULES = (
    limited_memory, small_shared_memory, slow_swap, used_swap, eager_swapping, small_pages, one_module,
    less_than_gpus, memory_errors,
)  # fmt: skip
