"""Tests of the list of mounted file systems."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.mounts import local, parse_mountinfo

MOUNTINFO = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
28 27 254:0 /home /home rw,relatime - ext4 /dev/vda rw
29 27 8:1 / /mnt/my\040data ro,relatime - xfs /dev/sda1 rw
30 27 0:50 / /net rw - nfs4 server:/export rw
31 27 8:17 / /scratch rw - ext4 /dev/sdb1 ro
garbage
"""


def test_lists_each_local_file_system_once() -> None:
    """Bind mounts are not repeated, network and kernel file systems are not local, and spaces are decoded."""
    found = local(parse_mountinfo(MOUNTINFO))
    assert [(mount.path, mount.kind, mount.source) for mount in found] == [
        ("/", "ext4", "/dev/vda"),
        ("/mnt/my data", "xfs", "/dev/sda1"),
        ("/scratch", "ext4", "/dev/sdb1"),
    ]


def test_read_only_refers_to_the_file_system() -> None:
    """A file system that became read-only after an error counts, a mount that is read-only for a sandbox does not."""
    assert [mount.read_only for mount in local(parse_mountinfo(MOUNTINFO))] == [False, False, True]


def test_the_root_of_a_container_counts() -> None:
    """An overlay counts as local if it is the root."""
    text = "1 0 0:9 / / rw - overlay overlay rw\n2 1 0:10 / /x rw - overlay overlay rw\n"
    assert [mount.path for mount in local(parse_mountinfo(text))] == ["/"]


@given(st.text(max_size=200))
def test_no_text_crashes_the_parser(text: str) -> None:
    """Lines that do not parse are skipped."""
    assert all(mount.kind for mount in parse_mountinfo(f"1 2 3 / {text} rw - ext4 x rw") if mount.kind == "ext4")
    assert isinstance(parse_mountinfo(text), list)
