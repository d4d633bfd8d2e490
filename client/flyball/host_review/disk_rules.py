"""Rules about disks: free space, and data on a slower disk than the host has."""

from collections.abc import Iterator

from flyball.host_review.host_finding import DISK_NAMES, HostFinding, HostSituation, suggestion, warning
from flyball.host_review.score_figures import DISK_KINDS
from flyball_planner.configurations.streaming import HABITS
from flyball_reports.figures import percent, plural, rate, size

NEARLY_FULL, FULL = 0.10, 0.03  # shares of the file system that are free
PLENTY_BYTES = 100e9  # enough for the checkpoints of any configuration
CHECKPOINT_BYTES_A_PARAMETER = 12.0
"""fp32 weights and AdamW's two moments; mixed precision adds 16-bit weights, which are often saved too."""

CHECKPOINTS = 3  # two are kept while the next one is written
MUCH_FASTER = 2.0  # another disk is worth copying the data
MUCH_SLOWER = 0.3  # of what is typical: something else uses the disk, or it is worn


def little_space(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a file system that is nearly full, or too small for the checkpoints of the configurations."""
    folder = situation.profile.folder
    if folder is None or folder.free_bytes is None:
        return
    if folder.bytes and folder.free_bytes < min(NEARLY_FULL * folder.bytes, PLENTY_BYTES):
        share = folder.free_bytes / folder.bytes
        yield warning(
            "disk-full", 3 if share < FULL else 2,
            f"The disk of {folder.path} is nearly full ({size(folder.free_bytes)} free)",
            f"that is {percent(share)} of the file system; a checkpoint that cannot be written ends the training, and "
            "SSDs write slowly when they are full",
            "Delete what is not needed, or write to another disk",
        )  # fmt: skip
    largest = max((each.model.parameters for each in situation.configurations), default=0)
    one = CHECKPOINT_BYTES_A_PARAMETER * largest
    if one and folder.free_bytes < CHECKPOINTS * one:
        fit = int(folder.free_bytes // one)
        yield warning(
            "checkpoint-space", 3 if fit == 0 else 2,
            f"{folder.path} has room for {plural(fit, 'checkpoint')} of the largest configuration",
            f"one takes about {size(one)} (weights and AdamW's moments), and {size(folder.free_bytes)} are free",
            f"Make room for {CHECKPOINTS}: {size(CHECKPOINTS * one)}",
        )  # fmt: skip


def slow_folder(situation: HostSituation) -> Iterator[HostFinding]:
    """Find data on a slower disk than another one of this host."""
    folder = situation.profile.folder
    if folder is None or folder.kind not in DISK_KINDS:
        return
    here = HABITS[DISK_KINDS[folder.kind]].bytes_per_second
    others = [each for each in situation.profile.disks if each.kind in DISK_KINDS and each.mounts]
    best = max(others, key=lambda each: HABITS[DISK_KINDS[each.kind or ""]].bytes_per_second, default=None)
    if best is None or best.kind is None:
        return
    there = HABITS[DISK_KINDS[best.kind]].bytes_per_second
    if there < MUCH_FASTER * here:
        return
    yield suggestion(
        "slow-folder", 2,
        f"{folder.path} is on {DISK_NAMES[folder.kind]}, and {best.mounts[0]} is on {DISK_NAMES[best.kind]}",
        f"typical rates are {rate(here, 'B/s')} and {rate(there, 'B/s')}",
        f"Copy the data to {best.mounts[0]} before the training",
        effect=f"data is read up to {there / here:.0f} times as fast",
    )  # fmt: skip


def slower_than_its_kind(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a measured disk that reads much slower than its kind."""
    profile = situation.profile
    measured = profile.benchmarks.disk if profile.benchmarks else None
    if measured is None or not measured.read_mb_per_second or profile.folder is None:
        return
    if profile.folder.kind not in DISK_KINDS:
        return
    typical = HABITS[DISK_KINDS[profile.folder.kind]].bytes_per_second
    reached = measured.read_mb_per_second * 1e6
    if reached < MUCH_SLOWER * typical:
        yield warning(
            "disk-speed", 1, f"The disk reads {rate(reached, 'B/s')}, much less than its kind",
            f"measured with {size(measured.bytes)}; {DISK_NAMES[profile.folder.kind]} reads {rate(typical, 'B/s')}",
            "Check whether another program uses it, and its health with `smartctl -a`",
        )  # fmt: skip


def layered_folder(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a working folder in the layers of a container."""
    folder = situation.profile.folder
    if folder is not None and folder.file_system == "overlay":
        yield suggestion(
            "overlay", 1, f"{folder.path} is in the container's own layer",
            "its files are lost with the container, and the first change of a file copies all of it",
            "Mount a volume for data and checkpoints",
            effect="checkpoints outlive the container",
            command="docker run -v /data:/data …",
        )  # fmt: skip


RULES = (little_space, slow_folder, slower_than_its_kind, layered_folder)
