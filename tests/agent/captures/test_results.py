"""Results wait in files until the collector has them, one part at a time, within limits."""

import hashlib
import os
from pathlib import Path

import pytest

from flyball_agent.captures import results as module
from flyball_agent.captures.order import CaptureFailed
from flyball_agent.captures.results import PART_BYTES, CaptureResults, ResultNote
from flyball_proto.v1 import telemetry_pb2 as pb

NOTE = ResultNote("client", "trace.json.gz", "as ordered")
ID = "0123456789abcdef"


@pytest.fixture
def results(tmp_path: Path) -> CaptureResults:
    """Results of a new agent."""
    found = CaptureResults(tmp_path / "captures")
    found.prepare()
    return found


def take(results: CaptureResults) -> pb.Captured:
    message = results.next_message()
    assert message is not None
    return message


def test_parts_follow_one_another_as_the_collector_asks(results: CaptureResults, tmp_path: Path) -> None:
    """The next part comes after the collector has stored the one before, and the file goes when it needs no more."""
    body = os.urandom(2 * PART_BYTES + 5)
    results.add_bytes(ID, body, NOTE)
    got = b""
    while len(got) < len(body):
        part = take(results)
        assert (part.id, part.offset, part.size_bytes, part.file_name) == (ID, len(got), len(body), "trace.json.gz")
        assert part.sha256 == hashlib.sha256(body).digest()
        assert not results.ready, "one part at a time"
        got += part.data
        results.take_next(pb.CaptureNext(id=ID, offset=len(got)))
    assert got == body
    results.take_next(pb.CaptureNext(id=ID, forget=True))
    assert list((tmp_path / "captures").iterdir()) == []
    assert not results.ready


def test_a_new_stream_gets_the_part_that_the_old_one_lost(results: CaptureResults) -> None:
    """A part in flight is sent again from the place that the collector confirmed last."""
    results.add_bytes(ID, os.urandom(2 * PART_BYTES), NOTE)
    first = take(results)
    results.take_next(pb.CaptureNext(id=ID, offset=PART_BYTES))
    assert take(results).offset == PART_BYTES
    woken: list[int] = []
    results.begin_stream(lambda: woken.append(1))
    assert results.ready
    assert take(results).offset == PART_BYTES
    results.take_next(pb.CaptureNext(id=ID, offset=0))
    assert take(results) == first
    assert woken


def test_states_go_before_parts_and_the_newest_counts(results: CaptureResults) -> None:
    """A state that was not sent yet is replaced."""
    results.add_bytes(ID, b"x", NOTE)
    results.report(ID, pb.Captured.ACCEPTED)
    results.report(ID, pb.Captured.RUNNING, "step 1 of 3")
    assert (take(results).state, take(results).data) == (pb.Captured.RUNNING, b"x")


def test_what_an_earlier_agent_left_is_deleted(tmp_path: Path) -> None:
    """The collector has given those orders up."""
    (tmp_path / "captures").mkdir()
    (tmp_path / "captures" / ID).write_bytes(b"old")
    results = CaptureResults(tmp_path / "captures")
    results.prepare()
    assert list((tmp_path / "captures").iterdir()) == []


def test_a_file_is_copied_up_to_its_size_at_that_time(results: CaptureResults, tmp_path: Path) -> None:
    """A file that grows while it is read does not fill the disk."""
    path = tmp_path / "growing"
    path.write_bytes(b"a" * 1000)
    with path.open("r+b") as file:
        results.add_file(ID, file.fileno(), 1000, NOTE)
        file.seek(0, 2)
        file.write(b"b" * 1000)
    assert take(results).data == b"a" * 1000


def test_a_claim_of_ten_gigabytes_costs_nothing(results: CaptureResults, tmp_path: Path) -> None:
    """A sparse file beyond the limit of the order is refused before it is read."""
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(10 * 1024**3)
    with path.open("rb") as file, pytest.raises(CaptureFailed, match="has 10,737,418,240 bytes; the limit is 1,000"):
        results.add_file(ID, file.fileno(), 1000, NOTE)
    assert list((tmp_path / "captures").iterdir()) == []


def test_a_file_that_cannot_be_read_is_a_reason(results: CaptureResults, tmp_path: Path) -> None:
    """A process may deliver a descriptor that is open for writing only."""
    with (tmp_path / "file").open("wb") as file:
        file.write(b"x")
        file.flush()
        with pytest.raises(CaptureFailed, match="the file of the process cannot be read: Bad file descriptor"):
            results.add_file(ID, file.fileno(), 1000, NOTE)
    assert list((tmp_path / "captures").iterdir()) == []


def test_a_result_without_room_is_refused(
    results: CaptureResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All results together are limited; the earlier ones stay."""
    monkeypatch.setattr(module, "MAX_WAITING_BYTES", 10)
    results.add_bytes(ID, b"12345", NOTE)
    with pytest.raises(CaptureFailed, match="1 results with 5 bytes wait for the collector"):
        results.add_bytes("f" * 16, b"123456", NOTE)
    assert [file.name for file in (tmp_path / "captures").iterdir()] == [ID]


def test_a_folder_that_cannot_be_written_is_a_reason(tmp_path: Path) -> None:
    """The answer names the file and the system's words."""
    (tmp_path / "captures").write_text("a file, not a folder")
    results = CaptureResults(tmp_path / "captures")
    results.prepare()
    with pytest.raises(CaptureFailed, match=r"the agent cannot write .*captures"):
        results.add_bytes(ID, b"x", NOTE)


def test_a_result_that_has_gone_fails(results: CaptureResults, tmp_path: Path) -> None:
    """Somebody emptied the folder: the collector gets the reason instead of a part."""
    results.add_bytes(ID, b"x", NOTE)
    (tmp_path / "captures" / ID).unlink()
    message = take(results)
    assert (message.state, message.detail) == (
        pb.Captured.FAILED,
        "cannot read the result again: No such file or directory",
    )
    assert not results.ready
