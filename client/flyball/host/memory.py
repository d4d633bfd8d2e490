"""The memory: its size, its limit, its modules, and the settings of the kernel that matter to trainings."""

import os
import re
from pathlib import Path

from flyball.host.hardware_parts import HostMemory
from flyball.host.kernel_numbers import read_count
from flyball.host.limits import memory_left
from flyball.host.places import HostPlaces
from flyball.host.reasons import Reasons, add_reasons
from flyball.host.smbios import MemoryModule, memory_modules
from flyball_agent.probes.files import entries, number_after, read_text
from flyball_agent.probes.memory_errors import controller_names
from flyball_proto.v1 import telemetry_pb2 as pb

KIB = 1024
DMI_TABLE = "firmware/dmi/tables/DMI"

REASONS = {
    "total_bytes": "the kernel reports no memory",
    "available_bytes": "the kernel does not report it",
    "limit_bytes": "no limit is set",
    "kind": "neither the firmware nor the memory controller states it (normal in a virtual machine)",
    "mega_transfers_per_second": "the firmware does not state it (normal in a virtual machine)",
    "modules": "neither the firmware nor the memory controller lists them (normal in a virtual machine)",
    "ecc": "neither the firmware nor the memory controller states it (normal in a virtual machine)",
    "corrected_errors": "no memory controller reports errors (normal in a virtual machine)",
    "uncorrected_errors": "no memory controller reports errors (normal in a virtual machine)",
    "shared_memory_bytes": "there is no /dev/shm",
    "shared_memory_free_bytes": "there is no /dev/shm",
    "huge_pages": "the kernel has no transparent huge pages",
    "swappiness": "the kernel does not report it",
}
_FIRMWARE = ("kind", "mega_transfers_per_second", "modules", "ecc")


def read_memory(
    places: HostPlaces, inventory: pb.Inventory, limit_bytes: int | None, table: bytes | str, reasons: Reasons
) -> HostMemory:
    """Return the memory of the machine. `table` is that of the firmware, or the reason why it cannot be read."""
    modules = memory_modules(table) if isinstance(table, bytes) else []
    controllers = places.sys / "devices/system/edac/mc"
    corrected, uncorrected = memory_errors(controllers)
    shared, free = shared_memory(places.root / "dev/shm")
    kinds = sorted({each.kind for each in modules if each.kind}) or controller_kinds(controllers)
    memory = HostMemory(
        total_bytes=inventory.memory_bytes or None,
        available_bytes=least(available_bytes(places), memory_left(places, limit_bytes)),
        limit_bytes=limit_bytes,
        kind=" and ".join(kinds) or None,
        mega_transfers_per_second=min((each.mega_transfers_per_second or 0 for each in modules), default=0) or None,
        modules=len(modules) or controller_modules(controllers) or None,
        ecc=has_ecc(modules, controllers),
        corrected_errors=corrected,
        uncorrected_errors=uncorrected,
        shared_memory_bytes=shared,
        shared_memory_free_bytes=free,
        huge_pages=active_choice(read_text(places.sys / "kernel/mm/transparent_hugepage/enabled") or ""),
        swappiness=read_count(places.proc / "sys/vm/swappiness"),
    )
    if isinstance(table, str):
        add_reasons(reasons, "memory", memory, dict.fromkeys(_FIRMWARE, table))
    add_reasons(reasons, "memory", memory, REASONS)
    return memory


def firmware_table(places: HostPlaces) -> bytes | str:
    """Return the firmware's table, or the reason why it cannot be read."""
    path = places.sys / DMI_TABLE
    try:
        return path.read_bytes()
    except PermissionError:
        return f"no permission to read {path}; run as root"
    except OSError:
        return "the firmware has no table of its parts (normal in a virtual machine)"


def least(*values: int | None) -> int | None:
    """Return the smallest known value."""
    return min((each for each in values if each is not None), default=None)


def available_bytes(places: HostPlaces) -> int | None:
    """Return the memory that programs can still take without swapping."""
    text = read_text(places.proc / "meminfo")
    if text is not None:
        kibibytes = number_after(text.encode(), b"MemAvailable:", b" kB")
        return None if kibibytes is None else kibibytes * KIB
    return _psutil_available() if places.this_machine else None


def _psutil_available() -> int | None:
    try:
        import psutil

        return int(psutil.virtual_memory().available)
    except (ImportError, OSError, RuntimeError):
        return None


def shared_memory(folder: Path) -> tuple[int | None, int | None]:
    """Return size and free bytes of the file system through which processes share memory."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return None, None
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


def active_choice(text: str) -> str | None:
    """Return the choice in brackets: `always` of `[always] madvise never`."""
    found = re.search(r"\[(\w+)\]", text)
    return found[1] if found else None


def memory_errors(controllers: Path) -> tuple[int | None, int | None]:
    """Return the errors that all controllers corrected, and those that they could not."""
    folders = [controllers / name for name in controller_names(controllers)]
    return _total(folders, "ce_count"), _total(folders, "ue_count")


def _total(folders: list[Path], name: str) -> int | None:
    known = [each for folder in folders if (each := read_count(folder / name)) is not None]
    return sum(known) if known else None


def _module_folders(controllers: Path) -> list[Path]:
    return [
        controllers / controller / name
        for controller in controller_names(controllers)
        for name in entries(controllers / controller)
        if name.startswith(("dimm", "rank")) and (read_text(controllers / controller / name / "size") or "0") != "0"
    ]


def controller_kinds(controllers: Path) -> list[str]:
    """Return the kinds of memory by the controllers, such as DDR4 of `Registered-DDR4`."""
    names = {read_text(folder / "dimm_mem_type") or "" for folder in _module_folders(controllers)}
    return sorted({name.rpartition("-")[2] for name in names if "DDR" in name or "HBM" in name})


def controller_modules(controllers: Path) -> int:
    """Return the number of modules by the controllers."""
    return len(_module_folders(controllers))


def has_ecc(modules: list[MemoryModule], controllers: Path) -> bool | None:
    """Return True if all modules correct errors, by the controllers or by their width."""
    modes = [read_text(folder / "dimm_edac_mode") for folder in _module_folders(controllers)]
    if any(modes):
        return all(mode not in {None, "", "None", "Unknown"} for mode in modes)
    known = [each.ecc for each in modules if each.ecc is not None]
    return all(known) if known else None
