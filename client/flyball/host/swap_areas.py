"""The areas of swap, the disks that they are on, and how fast these are."""

from flyball.host.block_devices import FoundDisk, disk_below, disk_of_mount, mount_of
from flyball.host.hardware_parts import HostSwap
from flyball.host.places import HostPlaces
from flyball.host.reasons import Reasons, add_reasons
from flyball_agent.probes.files import read_text
from flyball_agent.probes.mounts import parse_mountinfo
from flyball_planner.catalogue.tables import table
from flyball_proto.v1 import telemetry_pb2 as pb

KIB = 1024
_TYPICAL = {"hdd": "HDD 7200 rpm", "ssd": "SATA III SSD", "nvme": "NVMe SSD PCIe 3.0 x4"}
"""The catalogue's entry of each kind of disk."""


REASONS = {
    "used_bytes": "the kernel does not report it",
    "disk": "the disk below is not visible here",
    "disk_kind": "the disk below is not visible here",
    "mb_per_second": "the kind of disk is unknown",
}
OF_ZRAM = {"disk": "compressed memory is on no disk", "mb_per_second": "compressed memory has no typical speed"}


def read_swap_areas(places: HostPlaces, inventory: pb.Inventory, reasons: Reasons) -> tuple[HostSwap, ...]:
    """Return the areas of swap. Their speed is typical of the disk: it is not measured, because that would swap."""
    used = used_bytes(read_text(places.proc / "swaps") or "")
    areas = tuple(_area(swap, used.get(swap.device), places) for swap in inventory.swaps)
    for position, area in enumerate(areas):
        add_reasons(reasons, f"swaps.{position}", area, OF_ZRAM if area.kind == "zram" else {})
        add_reasons(reasons, f"swaps.{position}", area, REASONS)
    return areas


def _area(swap: pb.Swap, used: int | None, places: HostPlaces) -> HostSwap:
    disk = None if swap.kind == "zram" else _disk(swap, places)
    kind = "memory" if swap.kind == "zram" else disk.kind if disk else None
    return HostSwap(
        device=swap.device,
        kind=swap.kind,
        bytes=swap.bytes,
        used_bytes=used,
        disk=disk.device if disk else None,
        disk_kind=kind,
        mb_per_second=typical_speed(kind),
    )


def _disk(swap: pb.Swap, places: HostPlaces) -> FoundDisk | None:
    if swap.kind == "file":
        mount = mount_of(parse_mountinfo(read_text(places.proc / "self/mountinfo") or ""), swap.device)
        return disk_of_mount(mount, places.sys) if mount else None
    return disk_below(places.sys, swap.device.rpartition("/")[2])


def typical_speed(kind: str | None) -> float | None:
    """Return the MB/s at which a kind of disk usually reads."""
    name = _TYPICAL.get(kind or "")
    return next((float(row["read_mb_per_second"]) for row in table("storage") if row["name"] == name), None)


def used_bytes(text: str) -> dict[str, int]:
    """Return the used bytes of each area, from `/proc/swaps`."""
    rows = (line.split() for line in text.splitlines()[1:])
    return {row[0].replace("\\040", " "): int(row[3]) * KIB for row in rows if len(row) >= 4 and row[3].isdecimal()}
