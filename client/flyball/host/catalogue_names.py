"""Finds the machine's devices in the planner's catalogue."""

from collections.abc import Iterator
from contextlib import suppress

from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_reports.errors import InputError

_MEMORY_DIFFERS = 0.15
"""A card shows up to a tenth less memory than its name promises (ECC, reserved)."""

_PROCESSORS = ("cpu", "unified")


def catalogue_device(model: str, kind: str, memory_bytes: int | None = None) -> ComputeDevice | None:
    """Return the catalogue's device of a model, or None. A GPU must have about the same memory."""
    for name in _spellings(model, memory_bytes):
        with suppress(InputError):
            found = find_device(name)
            if _is_of_kind(found, kind) and _memory_fits(found, memory_bytes):
                return found
    return None


def _spellings(model: str, memory_bytes: int | None) -> Iterator[str]:
    if memory_bytes:
        yield f"{model} {round(memory_bytes / 2**30)}GB"
    yield model
    if memory_bytes:  # cards of 40 or 80 GB show less
        for size in (8, 12, 16, 24, 32, 40, 48, 64, 80, 94, 96, 128, 141, 180, 192, 256, 288):
            if abs(size * 2**30 - memory_bytes) < _MEMORY_DIFFERS * memory_bytes:
                yield f"{model} {size}GB"


def _is_of_kind(found: ComputeDevice, kind: str) -> bool:
    return str(found.kind) in (_PROCESSORS if kind == "cpu" else (kind, "unified"))


def _memory_fits(found: ComputeDevice, memory_bytes: int | None) -> bool:
    return memory_bytes is None or abs(found.memory_bytes - memory_bytes) <= _MEMORY_DIFFERS * found.memory_bytes
