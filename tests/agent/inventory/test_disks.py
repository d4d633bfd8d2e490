"""Tests of the disk inventory."""

from pathlib import Path

from flyball_agent.inventory.disks import read_disks
from flyball_agent.probes.testing import write_tree

MOUNTINFO = """\
27 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw
28 27 259:2 /home /home/somebody rw - ext4 /dev/nvme0n1p2 rw
29 27 253:0 / /data rw - xfs /dev/mapper/vg-data rw
30 27 0:44 / /pool rw - btrfs /dev/sdb rw
"""
TREE = {
    "self/mountinfo": MOUNTINFO,
    "block/nvme0n1/size": "2000\n",
    "block/nvme0n1/dev": "259:0\n",
    "block/nvme0n1/device/model": "SAMSUNG MZQL2  \n",
    "block/nvme0n1/nvme0n1p2/partition": "2\n",
    "block/nvme0n1/nvme0n1p2/dev": "259:2\n",
    "block/sda/size": "4000\n",
    "block/sda/dev": "8:0\n",
    "block/sda/queue/rotational": "1\n",
    "block/sda/device/model": "ST4000\n",
    "block/sda/holders/dm-0": "",
    "block/dm-0/size": "4000\n",
    "block/dm-0/dev": "253:0\n",
    "block/sdb/size": "1000\n",
    "block/sdb/dev": "8:16\n",
    "block/sdb/queue/rotational": "0\n",
    "block/sdb/device/model": "SSD\n",
    "block/vda/size": "10\n",
    "block/vda/device/vendor": "0x1af4\n",
    "block/loop0/size": "5\n",
    "block/sr0/size": "5\n",
    "block/nbd0/size": "0\n",
}


def test_reads_kinds_models_and_mounts(tmp_path: Path) -> None:
    """Mounts are followed through partitions and logical volumes. Bind mounts and empty devices are left out."""
    write_tree(tmp_path, TREE)
    disks = {disk.device: disk for disk in read_disks(tmp_path, tmp_path)}
    assert {name: (disk.kind, disk.bytes, list(disk.mounts)) for name, disk in disks.items()} == {
        "nvme0n1": ("nvme", 2000 * 512, ["/"]),
        "sda": ("hdd", 4000 * 512, ["/data"]),
        "sdb": ("ssd", 1000 * 512, ["/pool"]),
        "dm-0": ("virtual", 4000 * 512, ["/data"]),
        "vda": ("virtual", 10 * 512, []),
    }
    assert disks["nvme0n1"].model == "SAMSUNG MZQL2"


def test_cyclic_holders_terminate(tmp_path: Path) -> None:
    """Volumes that refer to each other in a cycle do not cause an endless loop."""
    files = {"block/dm-0/holders/dm-1": "", "block/dm-1/holders/dm-0": "", "block/dm-0/size": "1"}
    assert [disk.device for disk in read_disks(tmp_path, write_tree(tmp_path, files))] == ["dm-0"]


def test_without_disks_the_list_is_empty(tmp_path: Path) -> None:
    """A host without disks has an empty list."""
    assert read_disks(tmp_path, tmp_path) == []
