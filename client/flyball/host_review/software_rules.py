"""Rules about drivers and frameworks that do not fit the hardware, and limits of processes."""

import re
from collections.abc import Iterator, Sequence

from flyball.host.hardware_parts import HostGpu
from flyball.host_review.host_devices import largest_group
from flyball.host_review.host_finding import HostFinding, HostSituation, suggestion, warning
from flyball_reports.figures import size

FIRST_CUDA = ((10.0, (12, 8)), (8.9, (11, 8)), (8.0, (11, 0)), (7.5, (10, 0)), (7.0, (9, 0)))
"""The first CUDA version for compute capabilities from this one on, and
(docs.nvidia.com, CUDA Toolkit, Driver, and Architecture Matrix)"""

LAST_CUDA_12 = 7.5  # CUDA 13 does not support capabilities below this one (the same table)
FEW_OPEN_FILES = 4096
"""Each data loader worker holds a descriptor for each tensor that it passes; PyTorch's documentation on the sharing
strategy `file_descriptor` advises to raise the limit. Many systems set 1,024."""

_NUMBERS = re.compile(r"(\d+)\.(\d+)")


def _version(text: str | None) -> tuple[int, int] | None:
    match = _NUMBERS.search(text or "")
    return (int(match[1]), int(match[2])) if match else None


def old_driver(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a driver whose CUDA is older than the cards."""
    profile = situation.profile
    cuda = _version(profile.software.cuda_version)
    newest = max(_capabilities(profile.gpus), default=0.0)
    needed = next((version for capability, version in FIRST_CUDA if newest >= capability), None)
    if cuda is None or needed is None or cuda >= needed:
        return
    yield warning(
        "old-driver", 3, f"The driver supports CUDA {cuda[0]}.{cuda[1]}, and the GPU needs {needed[0]}.{needed[1]}",
        f"its compute capability is {newest:g}; libraries for older versions have no kernels for it",
        "Install a newer driver",
        effect="the GPU runs current frameworks, with all its number formats",
    )  # fmt: skip


def _capabilities(gpus: Sequence[HostGpu]) -> list[float]:
    """Return the compute capabilities that are known."""
    matches = [re.fullmatch(r"\d+\.\d+", each.compute_capability or "") for each in gpus]
    return [float(match[0]) for match in matches if match]


def wrong_torch(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a PyTorch that cannot use the GPUs."""
    profile = situation.profile
    build, gpus = profile.software.torch_build, largest_group(profile.gpus)
    if not build or not gpus or gpus[0].vendor not in {"nvidia", "amd"}:
        return
    wanted = "CUDA" if gpus[0].vendor == "nvidia" else "ROCm"
    version = profile.software.packages.get("torch", "")
    name = f"PyTorch {version}".strip()
    if not build.lower().startswith(wanted.lower()):
        yield warning(
            "torch-build", 3, f"{name} cannot use the GPUs",
            f"it was built for {build}, and they need a build for {wanted}",
            f"Install PyTorch for {wanted}: pytorch.org/get-started lists the command",
            effect="trainings run on the GPUs instead of the processor",
        )  # fmt: skip
        return
    built, driver = _version(build), _version(profile.software.cuda_version)
    if wanted == "CUDA" and built and driver and built[0] > driver[0]:
        yield warning(
            "torch-cuda", 3, f"{name} needs CUDA {built[0]}, and the driver supports {driver[0]}.{driver[1]}",
            "versions with a larger first number do not run on an older driver",
            "Install a newer driver, or PyTorch for an older CUDA",
        )  # fmt: skip
    oldest = min(_capabilities(gpus), default=LAST_CUDA_12)
    if wanted == "CUDA" and built and built[0] >= 13 and oldest < LAST_CUDA_12:
        yield warning(
            "torch-card", 3, f"{name} has no kernels for this GPU",
            f"it was built for {build}, which ends the support of compute capabilities below {LAST_CUDA_12}; "
            f"this GPU has {oldest:g}",
            "Install PyTorch for CUDA 12",
        )  # fmt: skip


def no_short_formats(situation: HostSituation) -> Iterator[HostFinding]:
    """Find GPUs without bf16: their trainings need a loss scaler or fp32."""
    used = largest_group(situation.profile.gpus)
    if not used or not used[0].precisions or used[0].precisions.get("bf16"):
        return
    name = used[0].catalogue_name or used[0].model or "the GPU"
    fp16 = bool(used[0].precisions.get("fp16"))
    yield suggestion(
        "no-bf16", 1, f"{name} does not compute in bf16",
        "models that were trained in bf16 overflow in fp16 without a loss scaler",
        "Use fp16 with a loss scaler" if fp16 else "Use fp32",
        effect="the loss stays finite",
        command="accelerate launch --mixed_precision fp16 train.py" if fp16 else "",
    )  # fmt: skip


def few_open_files(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a limit of open files that data loaders reach."""
    files = situation.profile.limits.open_files
    if files is not None and files < FEW_OPEN_FILES:
        yield suggestion(
            "open-files", 1, f"A process may open only {files:,} files",
            "data loader workers hold a file for each tensor that they pass; the limit ends them with "
            "“Too many open files”",
            "Raise the limit of the session",
            effect="loaders with many workers and shards run",
            command="ulimit -n 65536",
        )  # fmt: skip


def locked_memory(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a limit of locked memory on a host whose network reads memory directly."""
    limit = situation.profile.limits.locked_memory_bytes
    ports = [each.device for each in situation.profile.networks if each.kind == "infiniband"]
    if ports and limit is not None:
        yield warning(
            "locked-memory", 2, f"A process may lock only {size(limit)} of memory",
            f"InfiniBand ({ports[0]}) registers buffers as locked memory; beyond the limit, NCCL fails or uses TCP",
            "Remove the limit (memlock) for users that train",
            effect="collectives between hosts use InfiniBand",
            command="ulimit -l unlimited",
        )  # fmt: skip


RULES = (old_driver, wrong_torch, no_short_formats, few_open_files, locked_memory)
