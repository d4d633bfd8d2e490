"""Tests of the probe of disk errors."""

from pathlib import Path

import pytest

from flyball_agent.probes.devices import RESCAN_EVERY
from flyball_agent.probes.disk_errors import STATES, DiskErrorProbe, parse_hexadecimal, parse_state
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

FILES = {
    "class/nvme/nvme0/state": "live\n",
    "class/nvme/nvme1/state": "dead\n",
    "block/sda/device/ioerr_cnt": "0x1f\n",
    "block/nvme0n1/size": "9\n",
    "fs/ext4/sda1/errors_count": "3\n",
    "fs/ext4/features/lazy_itable_init": "supported\n",
}


def test_reads_controllers_disks_and_file_systems(tmp_path: Path) -> None:
    """Counters of SCSI are hexadecimal; entries without the file are skipped."""
    sample = DiskErrorProbe(write_tree(tmp_path, FILES)).read()
    assert values_by_name(sample) == {
        ("nvme_state", "nvme0"): STATES.index("live"),
        ("nvme_state", "nvme1"): STATES.index("dead"),
        ("disk_errors_total", "sda"): 31,
        ("filesystem_errors_total", "sda1"): 3,
    }
    assert not sample.unavailable


@pytest.mark.parametrize(("text", "state"), [(b"deleting (no IO)\n", "deleting"), (b"connecting\n", "connecting")])
def test_states(text: bytes, state: str) -> None:
    """The variant of deleting is the same state."""
    assert parse_state(text) == STATES.index(state)


@pytest.mark.parametrize("text", [b"", b"0x", b"-0x1", b"0x" + b"f" * 40, b"what"])
def test_no_number_is_unknown(text: bytes) -> None:
    """Anything but a number that is not negative gives None."""
    assert parse_hexadecimal(text) is None


def test_an_unknown_state_has_a_reason(tmp_path: Path) -> None:
    """A state that a newer kernel has added is unknown, not a number."""
    sample = DiskErrorProbe(write_tree(tmp_path, FILES | {"class/nvme/nvme1/state": "dreaming\n"})).read()
    assert values_by_name(sample)["nvme_state", "nvme1"] is None
    assert not list(broken_rules(sample))


def test_a_new_disk_is_found(tmp_path: Path) -> None:
    """The columns follow the disks, and without a change they are the same object."""
    probe = DiskErrorProbe(write_tree(tmp_path, FILES))
    first = probe.read()
    write_tree(tmp_path, {"block/sdb/device/ioerr_cnt": "0x0\n"})
    samples = [probe.read() for _ in range(RESCAN_EVERY)]
    assert samples[0].columns is first.columns
    assert values_by_name(samples[-1])["disk_errors_total", "sdb"] == 0


def test_none_is_absent(tmp_path: Path) -> None:
    """Without any of the files the probe is absent."""
    with pytest.raises(Absent):
        DiskErrorProbe(tmp_path).read()
