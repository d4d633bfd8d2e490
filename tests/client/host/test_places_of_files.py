"""The working folder, the swap areas and the disks below them."""

from pathlib import Path

import pytest

from flyball.host.block_devices import FoundDisk, disk_below, mount_of
from flyball.host.swap_areas import read_swap_areas, typical_speed
from flyball.host.working_folder import read_working_folder
from flyball_agent.probes.mounts import parse_mountinfo
from tests.client.host.machine_trees import LAPTOP, LAPTOP_MOUNTS, SERVER, places_of
from tests.client.host.test_processor import inventory_of

OVERLAY = """\
100 1 0:50 / / rw - overlay overlay rw,lowerdir=/a,upperdir=/b
101 100 8:2 /hosts /etc/hosts rw - ext4 /dev/sda2 rw
"""


@pytest.mark.parametrize(
    ("files", "work", "expected"),
    [
        (LAPTOP, "/", ("btrfs", "nvme0n1", "nvme")),
        (LAPTOP, "/scratch", ("tmpfs", None, "memory")),
        (LAPTOP, "/mnt/data", ("nfs4", "server:/data", "network")),
        (SERVER, "/", ("xfs", "sda", "hdd")),
        (SERVER, "/raid", ("ext4", "nvme1n1", "nvme")),
    ],
)
def test_the_disk_below_the_working_folder_is_found(
    tmp_path: Path, files: dict[str, str], work: str, expected: tuple[str, str | None, str]
) -> None:
    """Through partitions, logical volumes, RAID, and file systems with numbers of their own."""
    reasons: dict[str, str] = {}
    found = read_working_folder(places_of(tmp_path, files, work=work), reasons)
    assert (found.file_system, found.device, found.kind) == expected
    assert "folder.kind" not in reasons


def test_the_layer_of_a_container_is_on_the_disk_of_the_runtimes_files(tmp_path: Path) -> None:
    """The overlay has no disk of its own, but the runtime mounts /etc/hosts from where its layers are."""
    files = {**SERVER, "proc/self/mountinfo": OVERLAY, "sys/dev/block/8:2": "->../../block/sda/sda2"}
    found = read_working_folder(places_of(tmp_path, files), {})
    assert (found.file_system, found.device, found.kind) == ("overlay", "sda", "hdd")


def test_a_folder_without_a_visible_disk_has_a_reason(tmp_path: Path) -> None:
    """The size is known nevertheless."""
    reasons: dict[str, str] = {}
    found = read_working_folder(places_of(tmp_path, {**SERVER, "proc/self/mountinfo": OVERLAY[:60]}), reasons)
    assert found.kind is None
    assert "not belong to a disk" in reasons["folder.kind"]
    assert found.bytes is not None
    assert found.bytes > 0


def test_each_swap_area_has_its_kind_disk_and_typical_speed(tmp_path: Path) -> None:
    """Compressed memory is on no disk; a file is on the disk of its file system."""
    places = places_of(tmp_path, LAPTOP)
    reasons: dict[str, str] = {}
    areas = read_swap_areas(places, inventory_of(places), reasons)
    assert [(area.kind, area.disk, area.disk_kind) for area in areas] == [
        ("zram", None, "memory"),
        ("partition", "nvme0n1", "nvme"),
        ("file", "nvme0n1", "nvme"),
    ]
    assert [area.used_bytes for area in areas] == [1000 * 1024, 0, 0]
    assert areas[1].mb_per_second == typical_speed("nvme")
    assert areas[1].speed_is_estimate
    assert "typical speed" in reasons["swaps.0.mb_per_second"]


def test_swap_on_a_volume_of_a_hard_disk_is_slow(tmp_path: Path) -> None:
    """The logical volume is followed down to its disk."""
    places = places_of(tmp_path, SERVER)
    area = read_swap_areas(places, inventory_of(places), {})[0]
    assert (area.disk, area.disk_kind, area.mb_per_second) == ("sda", "hdd", 160.0)


def test_kinds_of_disks_have_their_order_of_speed() -> None:
    """An unknown kind has no typical speed."""
    speeds = [typical_speed(kind) for kind in ("hdd", "ssd", "nvme")]
    assert None not in speeds
    assert speeds == sorted(speeds, key=lambda speed: speed or 0.0)
    assert typical_speed("virtual") is None
    assert typical_speed(None) is None


def test_of_several_disks_of_one_volume_the_slowest_counts(tmp_path: Path) -> None:
    """A mirror of a hard disk and an SSD writes as fast as the hard disk."""
    files = {**SERVER, "sys/block/md0/slaves/sda2": "->../../sda/sda2"}
    places = places_of(tmp_path, files)
    assert disk_below(places.sys, "9:0") == FoundDisk("sda", "hdd")
    assert disk_below(places.sys, "9:99") is None


def test_the_longest_mount_holds_a_path() -> None:
    """`/mnt/database` is not below `/mnt/data`, and a later mount hides an earlier one at the same place."""
    mounts = parse_mountinfo(LAPTOP_MOUNTS + "31 27 0:60 / /scratch rw - ext4 /dev/sdz1 rw\n")
    found = {path: mount_of(mounts, path) for path in ("/mnt/data/x", "/mnt/database", "/scratch")}
    assert {path: mount.kind for path, mount in found.items() if mount} == {
        "/mnt/data/x": "nfs4",
        "/mnt/database": "btrfs",
        "/scratch": "ext4",
    }
