"""Tests of the reader of the kernel's log."""

import os
import uuid
from pathlib import Path

import pytest

from flyball_agent.memory_kills.kernel_log import KernelLog, parse_record
from flyball_agent.probes.probe import Absent, Denied


def test_only_records_of_the_kernel_are_messages() -> None:
    """Programs can write into the log, but only with another facility; escaped bytes are decoded."""
    assert parse_record(b"6,1234,5678901,-;Out of memory: Killed\n SUBSYSTEM=x\n") == "Out of memory: Killed"
    assert parse_record(b"4,1,5,-,caller=T1;a\\x5cx2db\\xc3\\xa9") == "a\\x2db\u00e9"
    assert parse_record(b"12,1234,5678901,-;Out of memory: Killed process 1 (init)") is None
    assert [parse_record(record) for record in (b"", b"no record", b"x,1;y", b";y")] == [None] * 4


def test_the_log_is_read_from_the_first_reading_on(tmp_path: Path) -> None:
    """Messages of before belong to an earlier life of the agent; a file that cannot be read has a reason."""
    path = tmp_path / "kmsg"
    path.write_bytes(b"6,1,1,-;before\n")
    log = KernelLog(path)
    assert log.messages() == []
    with path.open("ab") as file:
        file.write(b"6,2,2,-;after\n")
    assert log.messages() == ["after"]
    with pytest.raises(Absent):
        KernelLog(tmp_path / "none").messages()


def test_a_log_without_permission_has_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CAP_SYSLOG the kernel refuses to open its log."""

    def refuse(*_: object) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Denied) as caught:
        KernelLog(tmp_path / "kmsg").messages()
    assert "CAP_SYSLOG" in caught.value.remedy


def test_this_kernels_log_can_be_read_without_waiting() -> None:
    """A line that a program writes into the real log is read at once, and is not a message of the kernel."""
    log = KernelLog()
    try:
        log.messages()
        with Path("/dev/kmsg").open("w") as file:
            file.write(f"flyball test {uuid.uuid4()}")
    except (Absent, Denied, OSError) as error:
        pytest.skip(f"the kernel's log is not accessible: {error}")
    assert not [message for message in log.messages() if "flyball test" in message]
