"""Tests of the probe of NVMe health logs."""

import tempfile
from pathlib import Path

import pytest

from flyball_agent.probes.nvme_health import COMMAND, METRICS, NvmeHealthProbe, parse_log, read_log
from flyball_agent.probes.probe import Absent, Denied, Unavailable
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree
from tests.agent.probes.test_files import unprivileged

NVME = {"class/nvme/nvme0/state": "live\n", "class/nvme/nvme1/state": "live\n"}


def log(
    *, warnings: int = 0, spare: int = 100, wear: int = 0, media_errors: int = 0, unsafe_shutdowns: int = 0
) -> bytes:
    """Return a health log as the NVMe specification describes it, of a disk at 40 °C."""
    data = bytearray(512)
    data[0], data[1:3], data[3], data[4], data[5] = warnings, (313).to_bytes(2, "little"), spare, 10, wear
    data[144:160] = unsafe_shutdowns.to_bytes(16, "little")
    data[160:176] = media_errors.to_bytes(16, "little")
    return bytes(data)


def test_reads_the_log_of_each_disk(tmp_path: Path) -> None:
    """Percentages become ratios, and each bit of the warnings counts as one."""
    logs = {
        "nvme0": log(warnings=0b101, spare=97, wear=12, media_errors=3, unsafe_shutdowns=41),
        "nvme1": log(),
    }
    sample = NvmeHealthProbe(write_tree(tmp_path, NVME), read=lambda device: logs[device.name]).read()
    assert list(sample.values) == [2, 0.97, 0.12, 3, 41, 0, 1.0, 0.0, 0, 0]
    assert not sample.unavailable


def test_a_disk_beyond_its_rated_life_is_fully_worn() -> None:
    """The specification lets the percentage exceed 100."""
    assert parse_log(log(wear=255))[2] == 1.0


@pytest.mark.parametrize("data", [b"", bytes(512), log()[:511]])
def test_an_empty_log_is_unknown(data: bytes) -> None:
    """A log that is empty or too short is not that of a healthy disk."""
    assert parse_log(data) == [None] * len(METRICS)


def test_a_counter_that_is_too_large_is_unknown() -> None:
    """The log has counters of 128 bits; a record has 64."""
    assert parse_log(log(media_errors=2**64))[3] is None


def test_a_disk_that_does_not_answer_has_a_reason(tmp_path: Path) -> None:
    """The other disks are still reported."""

    def read(device: Path) -> bytes:
        if device.name == "nvme0":
            raise Unavailable("the disk answered with status 0x2002")
        return log(wear=5)

    sample = NvmeHealthProbe(write_tree(tmp_path, NVME), read=read).read()
    assert values_by_name(sample)["nvme_wear_ratio", "nvme1"] == 0.05
    assert [(missing.resource, missing.detail) for missing in sample.unavailable] == [
        ("nvme0", "the disk answered with status 0x2002")
    ]
    assert not list(broken_rules(sample))


def test_a_missing_permission_has_a_remedy() -> None:
    """Without permission for the device, the reason names the capability that is needed."""
    with tempfile.TemporaryDirectory() as name:  # the folder of pytest belongs to its user alone
        folder = write_tree(Path(name), NVME | {"dev/nvme0": ""})
        folder.chmod(0o755)
        (folder / "dev/nvme0").chmod(0o200)
        with unprivileged(), pytest.raises(Denied) as caught:
            NvmeHealthProbe(folder, folder / "dev").read()
    assert "CAP_SYS_ADMIN" in caught.value.remedy


def test_a_file_instead_of_a_disk_has_a_reason(tmp_path: Path) -> None:
    """The kernel refuses the command for a file, and the reason names the file."""
    write_tree(tmp_path, {"nvme0": ""})
    with pytest.raises(Unavailable, match="nvme0"):
        read_log(tmp_path / "nvme0")


def test_the_command_has_the_size_of_the_kernels() -> None:
    """The number of the call contains this size."""
    assert COMMAND.size == 0x48


def test_none_is_absent(tmp_path: Path) -> None:
    """Without a controller the probe is absent."""
    with pytest.raises(Absent):
        NvmeHealthProbe(tmp_path).read()
