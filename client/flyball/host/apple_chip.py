"""The GPU of Apple Silicon, which shares the memory of the processor."""

import platform
import subprocess

from flyball.host.catalogue_names import catalogue_device
from flyball.host.hardware_parts import HostGpu
from flyball.host.reasons import Reasons
from flyball_planner.precision import NumberFormat

_SYSCTL = "/usr/sbin/sysctl"
_SECONDS = 1.0
UNPRIVILEGED = "macOS reports it only to root (powermetrics)"


def apple_gpu(reasons: Reasons) -> tuple[HostGpu, ...]:
    """Return the GPU of this Mac; none on Macs with Intel processors."""
    if platform.machine() != "arm64":
        reasons["gpus"] = "Macs with Intel processors have no GPU that trainings use"
        return ()
    return (gpu_of_chip(_sysctl("machdep.cpu.brand_string"), _sysctl("hw.memsize"), reasons),)


def gpu_of_chip(model: str | None, memory: str | None, reasons: Reasons) -> HostGpu:
    """Return the GPU of a chip, such as `Apple M2 Ultra` with `137438953472` bytes."""
    device = catalogue_device(model, "gpu") if model else None
    for name in ("power_watts", "temperature_celsius", "slowdown_celsius", "sm_clock_mhz"):
        reasons[f"gpus.0.{name}"] = UNPRIVILEGED
    return HostGpu(
        index=0,
        vendor="apple",
        model=model,
        catalogue_name=device.name if device else None,
        memory_bytes=int(memory) if memory and memory.isdecimal() else None,
        architecture=device.architecture if device else None,
        precisions={each.value: device.native(each) for each in NumberFormat} if device else {},
        precisions_source="catalogue" if device else None,
        tdp_watts=device.power_watts if device else None,
        tdp_source="catalogue" if device and device.power_watts else None,
        unified_memory=True,
    )


def _sysctl(name: str) -> str | None:
    try:
        done = subprocess.run(
            [_SYSCTL, "-n", name], capture_output=True, text=True, timeout=_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
