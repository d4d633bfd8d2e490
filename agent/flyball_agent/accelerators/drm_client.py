"""Parses the DRM client statistics of a process, from `/proc/<pid>/fdinfo/<fd>`.

Source: the kernel's Documentation/gpu/drm-usage-stats.rst, and those of amdgpu, i915 and xe beside it.
"""

import re
from dataclasses import dataclass, field

_UNITS = {b"": 1, b"KiB": 1024, b"MiB": 1024**2, b"GiB": 1024**3}
_DEVICE_MEMORY = re.compile(r"(vram|local)\d*$")  # amdgpu: vram; xe: vram0, vram1; i915: local0
_MEMORY_KEYS = ("drm-resident-", "drm-memory-", "drm-total-")  # best first; amdgpu before 6.13 has only the second
_COMPUTE_ENGINES = frozenset({"gfx", "compute", "render", "rcs", "ccs"})
"""Engines that run kernels: amdgpu gfx, compute; i915 render, compute; xe rcs, ccs. Others copy or (de)code video."""


@dataclass(frozen=True, slots=True)
class Busy:
    """The busy time of one engine. `total` is the elapsed time in the same unit; None: `busy` is in nanoseconds."""

    busy: int
    total: int | None = None
    capacity: int = 1


@dataclass(frozen=True, slots=True)
class DrmClient:
    """One open device. Descriptors that were duplicated or inherited show the same client."""

    driver: str
    address: str
    client_id: str
    memory_bytes: int | None = None
    engines: dict[str, Busy] = field(default_factory=dict)


def parse_client(data: bytes) -> DrmClient | None:
    """Parse one file; return None if its descriptor does not belong to a DRM device on the PCI bus."""
    if b"drm-driver:" not in data:
        return None
    values = dict(_pair(line) for line in data.splitlines() if line.startswith(b"drm-"))
    driver, address, client = (
        values.get(f"drm-{key}", b"").decode("ascii", "replace") for key in ("driver", "pdev", "client-id")
    )
    if not driver or not address or not client:
        return None
    return DrmClient(driver, address.lower(), client, _memory(values), _engines(values))


def _pair(line: bytes) -> tuple[str, bytes]:
    key, _, value = line.partition(b":")
    return key.decode("ascii", "replace"), value.strip()


def _amount(value: bytes) -> int | None:
    number, _, unit = value.partition(b" ")
    return int(number) * _UNITS[unit.strip()] if number.isdigit() and unit.strip() in _UNITS else None


def _memory(values: dict[str, bytes]) -> int | None:
    """Return the device memory of all regions. None: the driver does not report it, or the GPU has none of its own."""
    for prefix in _MEMORY_KEYS:
        found = [
            _amount(value)
            for key, value in values.items()
            if key.startswith(prefix) and _DEVICE_MEMORY.match(key[len(prefix) :])
        ]
        if found:
            return sum(amount for amount in found if amount is not None)
    return None


def _engines(values: dict[str, bytes]) -> dict[str, Busy]:
    found = {}
    for name in _COMPUTE_ENGINES:
        capacity = max(1, _amount(values.get(f"drm-engine-capacity-{name}", b"1")) or 1)
        cycles, total = (_amount(values.get(f"drm-{key}-{name}", b"")) for key in ("cycles", "total-cycles"))
        nanoseconds, _, unit = values.get(f"drm-engine-{name}", b"").partition(b" ")
        if cycles is not None and total is not None:
            found[name] = Busy(cycles, total, capacity)
        elif nanoseconds.isdigit() and unit == b"ns":
            found[name] = Busy(int(nanoseconds), None, capacity)
    return found


def busy_share(before: Busy, after: Busy, elapsed_seconds: float) -> float | None:
    """Return the share of the engine that a client used between two readings; None if no time passed."""
    if after.total is not None and before.total is not None:
        elapsed = float(after.total - before.total)
    else:
        elapsed = elapsed_seconds * 1e9
    if elapsed <= 0:
        return None
    return min(1.0, max(0, after.busy - before.busy) / (elapsed * after.capacity))
