"""Tests of kernel files: they stay open, are read completely, and give a reason when they cannot be read."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.files import (
    LARGEST,
    RETRY_EVERY,
    KernelFile,
    count,
    counts,
    entries,
    number,
    number_after,
    read_number,
    read_text,
    unavailable,
)
from flyball_agent.probes.probe import Absent, Denied, Unavailable, Unsupported

NOBODY_UID = 65534


@contextmanager
def unprivileged() -> Iterator[None]:
    """Run as an unprivileged user for a moment, because root may read everything."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY_UID)
    try:
        yield
    finally:
        if before == 0:
            os.seteuid(before)


def test_reads_the_current_content(tmp_path: Path) -> None:
    """The file is opened once, and each read returns its current content."""
    path = tmp_path / "loadavg"
    path.write_text("1")
    file = KernelFile(path)
    assert file.read() == b"1"
    path.write_text("22")
    assert file.read() == b"22"


@pytest.mark.parametrize("records", [False, True])
def test_reads_more_than_its_buffer(tmp_path: Path, records: bool) -> None:
    """A file larger than the buffer is read completely, the first time and later."""
    content = bytes(range(256)) * 40
    (tmp_path / "stat").write_bytes(content)
    file = KernelFile(tmp_path / "stat", records=records, size=16)
    assert [file.read() for _ in range(12)] == [content] * 12


def test_reads_every_line_of_the_kernels_long_files() -> None:
    """The kernel returns long files one page per read, and no line is lost."""
    path = Path("/proc/kallsyms")
    if not path.exists() or len(path.read_bytes()) < 100_000:
        path = Path("/proc/self/smaps")
    data = KernelFile(path, records=True).read()
    assert len(data) > 4096
    assert data.count(b"\n") == pytest.approx(path.read_bytes().count(b"\n"), rel=0.05)


def test_a_file_that_does_not_exist_is_absent(tmp_path: Path) -> None:
    """A missing file is absent, with the remedy of the probe, and is read when it appears."""
    file = KernelFile(tmp_path / "pressure", absent_remedy="boot with psi=1")
    with pytest.raises(Absent, match="No such file") as caught:
        file.read()
    assert caught.value.remedy == "boot with psi=1"
    (tmp_path / "pressure").write_text("7")
    assert file.read() == b"7"


def test_a_file_without_permission_is_denied() -> None:
    """A file without read permission is denied, with a remedy."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "energy_uj"
        path.write_text("1")
        path.chmod(stat.S_IWUSR)
        with unprivileged(), pytest.raises(Denied) as caught:
            KernelFile(path).read()
    assert "give the agent's user read permission" in caught.value.remedy


def test_an_optional_file_is_tried_at_intervals(tmp_path: Path) -> None:
    """A missing file reads as empty, is not tried at each reading, and is found when it appears."""
    file = KernelFile(tmp_path / "pids.max")
    assert file.read_optional() == b""
    (tmp_path / "pids.max").write_text("7")
    assert [file.read_optional() for _ in range(RETRY_EVERY)] == [b""] * (RETRY_EVERY - 1) + [b"7"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (errno.ENOENT, Absent),
        (errno.ENODEV, Absent),
        (errno.EACCES, Denied),
        (errno.EPERM, Denied),
        (errno.EOPNOTSUPP, Unsupported),
        (errno.ENODATA, Unsupported),
        (errno.EIO, Unavailable),
    ],
)
def test_errors_become_reasons(code: int, expected: type[Unavailable]) -> None:
    """Each system error has a reason, and its text does not change."""
    error = unavailable("/sys/x", OSError(code, "whatever"))
    assert type(error) is expected
    assert error.detail == f"/sys/x: {os.strerror(code)}"


def test_descriptors_are_closed(tmp_path: Path) -> None:
    """A file that is no longer referenced is closed."""
    (tmp_path / "x").write_text("1")
    before = len(entries(Path("/proc/self/fd")))
    for _ in range(50):
        KernelFile(tmp_path / "x").read()
    assert len(entries(Path("/proc/self/fd"))) <= before + 1


@given(st.integers(0, LARGEST), st.binary(max_size=20).filter(lambda tail: b"\n" not in tail))
def test_finds_the_number_behind_a_key(value: int, tail: bytes) -> None:
    """The number behind the key is found in any line; anything else gives None."""
    data = b"\nother 1\nkey " + str(value).encode() + b"\nlast " + tail
    assert number_after(data, b"\nkey ") == value
    assert number_after(data, b"\nmissing ") is None


@pytest.mark.parametrize("text", [b"-1", b"18446744073709551615", b"9223372036854775808", b"1.5", b"", b"x"])
def test_a_counter_that_is_negative_or_too_large_is_unknown(text: bytes) -> None:
    """A counter that has run below zero, or that a record cannot hold, has no value."""
    assert count(text) is None
    assert counts((b"1", text)) is None
    assert number_after(b"\nkey " + text + b"\n", b"\nkey ") is None


def test_the_factor_counts_for_the_limit() -> None:
    """A number that fits into a record, but not in bytes, has no value."""
    assert count(b"%d" % LARGEST) == LARGEST
    assert count(b"%d" % LARGEST, 512) is None
    assert counts((b"7", b"%d" % LARGEST), 512) is None
    assert counts((b"7", b"8"), 512) == [7, 8]
    assert number_after(b"\nkey 3 kB\n", b"\nkey ", b" kB", 1024) == 3072


def test_a_name_with_a_zero_byte_cannot_be_read(tmp_path: Path) -> None:
    """A name that came from a damaged file gives no text and no error."""
    assert read_text(tmp_path / "eth0\0") is None


@given(st.binary())
def test_no_bytes_crash_the_number_reader(data: bytes) -> None:
    """Any content gives a number or None."""
    assert number(data) is None or isinstance(number(data), int)


def test_reads_small_files(tmp_path: Path) -> None:
    """Text is stripped; a missing file, or one without a number, gives None."""
    (tmp_path / "name").write_text("nvme\n")
    (tmp_path / "size").write_text(" 12\n")
    assert read_text(tmp_path / "name") == "nvme"
    assert read_number(tmp_path / "size") == 12
    assert read_number(tmp_path / "name") is None
    assert read_text(tmp_path / "none") is None


def test_lists_in_natural_order(tmp_path: Path) -> None:
    """cpu2 comes before cpu10, and a missing folder has no entries."""
    for name in ("cpu10", "cpu2", "cpu0"):
        (tmp_path / name).mkdir()
    assert entries(tmp_path) == ["cpu0", "cpu2", "cpu10"]
    assert entries(tmp_path / "none") == []
