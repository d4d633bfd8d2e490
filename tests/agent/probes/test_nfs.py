"""Tests of the NFS probe."""

import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.nfs import MAX_MOUNTS, MOUNT, OPERATION, NfsProbe, mount_values, parse_mountstats, parse_rpc
from flyball_agent.probes.probe import Absent, Denied
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree
from tests.agent.probes.test_files import unprivileged

READ = "\t        READ: 10 12 1 100 200 5 4000 4500 2\n"
WRITE = "\t       WRITE: 20 20 0 100 200 5 8000 9000 0\n"


def mount(path: str, operations: str = READ + WRITE, *, source: str = "nas:/data", version: str = "nfs4") -> str:
    """Return the statistics of one mount."""
    return (
        f"device {source} mounted on {path} with fstype {version} statvers=1.1\n"
        "\topts:\trw,vers=4.2\n"
        "\tbytes:\t1000 2000 30 40 5000 6000 7 8\n"
        "\txprt:\ttcp 832 0 3 0 11 6428 6428 0 12154 0 24 26 5726\n"
        f"\tper-op statistics\n{operations}\n"
    )


def read(folder: Path, *mounts: str, mountinfo: str = "") -> NfsProbe:
    """Return a probe of a host with these mounts."""
    text = (
        "device proc mounted on /proc with fstype proc\n" + "".join(mounts) + "device none mounted on /x with fstype y"
    )
    return NfsProbe(write_tree(folder, {"self/mountstats": text, "self/mountinfo": mountinfo}))


def test_reads_a_mount(tmp_path: Path) -> None:
    """Bytes of processes include direct access, times are seconds, and connections are those of TCP."""
    values = values_by_name(read(tmp_path, mount("/data")).read())
    assert values["nfs_read_bytes_total", "/data"] == 1030
    assert values["nfs_written_bytes_total", "/data"] == 2040
    assert values["nfs_received_bytes_total", "/data"] == 5000
    assert values["nfs_sent_bytes_total", "/data"] == 6000
    assert values["nfs_connects_total", "/data"] == 3
    assert values["nfs_operations_total", "/data", "read"] == 10
    assert values["nfs_transmissions_total", "/data", "read"] == 12
    assert values["nfs_timeouts_total", "/data", "read"] == 1
    assert values["nfs_round_trip_seconds_total", "/data", "read"] == 4.0
    assert values["nfs_operation_seconds_total", "/data", "write"] == 9.0
    assert values["nfs_errors_total", "/data", "read"] == 2


def test_other_operations_are_summed(tmp_path: Path) -> None:
    """Look-ups, attributes and all others form one group; READ_PLUS of NFS 4.2 belongs to the reads."""
    others = "\tGETATTR: 1 1 0 0 0 0 10 20 0\n\tLOOKUP: 2 3 0 0 0 0 30 40 1\n\tREAD_PLUS: 5 5 0 0 0 0 1000 1000 0\n"
    values = values_by_name(read(tmp_path, mount("/data", READ + others)).read())
    assert values["nfs_operations_total", "/data", "other"] == 3
    assert values["nfs_round_trip_seconds_total", "/data", "other"] == 0.04
    assert values["nfs_errors_total", "/data", "other"] == 1
    assert values["nfs_operations_total", "/data", "read"] == 15
    assert values["nfs_round_trip_seconds_total", "/data", "read"] == 5.0


def test_operations_that_are_not_listed_are_unknown(tmp_path: Path) -> None:
    """Without a line for writes their values are unknown, each with a reason, not zero."""
    sample = read(tmp_path, mount("/data", READ)).read()
    assert values_by_name(sample)["nfs_operations_total", "/data", "write"] is None
    assert not list(broken_rules(sample))


def test_a_counter_below_zero_is_unknown(tmp_path: Path) -> None:
    """The kernel prints a time that ran below zero as almost 2**64: it is unknown, and the others are kept."""
    line = "\tREAD: 10 12 1 100 200 5 18446743919241604546 4500 0\n"
    values = values_by_name(read(tmp_path, mount("/data", line)).read())
    assert values["nfs_round_trip_seconds_total", "/data", "read"] is None
    assert values["nfs_operation_seconds_total", "/data", "read"] == 4.5


def test_bind_mounts_of_one_file_system_are_read_once(tmp_path: Path) -> None:
    """Mounts with one device number have the same statistics: only the shortest path is reported."""
    mountinfo = "".join(
        f"{n} 1 0:{device} / {path} rw - nfs4 nas:/x rw\n"
        for n, (path, device) in enumerate([("/home/a/data", 52), ("/data", 52), ("/other", 53)])
    )
    mounts = [mount(path, source=f"nas:{path}") for path in ("/home/a/data", "/data", "/other")]
    values = values_by_name(read(tmp_path, *mounts, mountinfo=mountinfo).read())
    assert {labels[1] for labels in values if labels[0] == "nfs_read_bytes_total"} == {"/data", "/other"}


def test_a_new_mount_appears_at_the_next_reading(tmp_path: Path) -> None:
    """Columns are the same object until a mount comes or goes."""
    probe = read(tmp_path, mount("/a"))
    first = probe.read()
    assert probe.read().columns is first.columns
    write_tree(tmp_path, {"self/mountstats": mount("/a") + mount("/b", source="nas:/b")})
    assert len(probe.read().columns) == 2 * len(first.columns) - 2


def test_the_number_of_mounts_is_limited(tmp_path: Path) -> None:
    """A host with many mounts has columns for the first of them only."""
    mounts = [mount(f"/m{n:02}", source=f"nas:/{n}") for n in range(MAX_MOUNTS + 3)]
    sample = read(tmp_path, *mounts).read()
    assert len(sample.columns) == 2 + MAX_MOUNTS * (len(MOUNT) + 3 * len(OPERATION))


def test_paths_with_spaces_are_decoded(tmp_path: Path) -> None:
    """The kernel writes a space as an octal number."""
    values = values_by_name(read(tmp_path, mount("/my\\040data")).read())
    assert values["nfs_operations_total", "/my data", "read"] == 10


def test_calls_of_the_host_are_read(tmp_path: Path) -> None:
    """The line `rpc` has calls and retransmissions of all mounts."""
    write_tree(tmp_path, {"net/rpc/nfs": "net 0 0 0 0\nrpc 500 7 500\nproc4 60 0 1\n"})
    values = values_by_name(read(tmp_path, mount("/data")).read())
    assert (values["nfs_calls_total",], values["nfs_retransmissions_total",]) == (500, 7)


def test_the_mounts_of_process_1_are_those_of_the_host(tmp_path: Path) -> None:
    """If the host's procfs is mounted elsewhere, the agent's own mounts are not used."""
    probe_root = write_tree(tmp_path, {"1/mountstats": mount("/host"), "self/mountstats": mount("/container")})
    values = values_by_name(NfsProbe(probe_root).read())
    assert ("nfs_operations_total", "/host", "read") in values
    assert ("nfs_operations_total", "/container", "read") not in values


def test_no_mount_is_absent(tmp_path: Path) -> None:
    """Without an NFS mount the probe is absent."""
    with pytest.raises(Absent, match="no NFS"):
        read(tmp_path).read()


def test_a_missing_permission_has_a_remedy() -> None:
    """In a container whose user lacks the permission for process 1, that is the reason."""
    with tempfile.TemporaryDirectory() as name:  # the folder of pytest belongs to its user alone
        folder = write_tree(Path(name), {"1/mountstats": mount("/host")})
        folder.chmod(0o755)
        (folder / "1/mountstats").chmod(stat.S_IWUSR)
        with unprivileged(), pytest.raises(Denied) as caught:
            NfsProbe(folder).read()
    assert "root" in caught.value.remedy


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_parsers(data: bytes) -> None:
    """For any content each metric has a value or None."""
    assert len(mount_values(data)) == len(MOUNT) + 3 * len(OPERATION)
    assert len(mount_values(b"bytes: " + data + b"per-op statistics\nREAD: " + data)) == 23
    assert len(parse_rpc(b"rpc " + data)) == 2
    parse_mountstats(b"device a mounted on /b with fstype nfs statvers=1.1\n" + data)
