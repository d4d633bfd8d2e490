import io
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from flyball_daemon import logs


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers[:], logging.root.level = handlers, level


def written(format: str, level: str = "info") -> io.StringIO:  # noqa: A002
    out = io.StringIO()
    logs.set_up(level, format, out)
    return out


def test_a_terminal_line_has_event_and_keys() -> None:
    """One line an event: time, level, constant name, details."""
    out = written("terminal")
    structlog.get_logger().info("agent_started", host="gpu-01", text="two words", seconds=0.1234567)
    assert out.getvalue().endswith('Z info    agent_started host=gpu-01 text="two words" seconds=0.123457\n')


def test_json_lines_parse() -> None:
    """Machines get one JSON object a line."""
    out = written("json")
    structlog.get_logger().error("store_failed", path=Path("/x"), count=3)
    line = json.loads(out.getvalue())
    assert (line["event"], line["level"], line["count"]) == ("store_failed", "error", 3)


def test_the_journal_gets_priorities_and_no_second_time() -> None:
    """The journal reads <N> and stamps the line itself."""
    out = written("journal", "debug")
    log = structlog.get_logger()
    log.debug("a")
    log.info("b", x=1)
    log.warning("c")
    log.error("d")
    assert out.getvalue() == "<7>a\n<6>b x=1\n<4>c\n<3>d\n"


def test_a_traceback_keeps_its_priority_in_the_journal() -> None:
    """Each line of an exception belongs to its event."""
    out = written("journal")
    try:
        raise ValueError("bad\x1b[31m")
    except ValueError:
        structlog.get_logger().exception("failed")
    lines = out.getvalue().splitlines()
    assert all(line.startswith("<3>") for line in lines)
    assert "\x1b" not in out.getvalue()


def test_repeats_are_counted_not_repeated() -> None:
    """The first is shown, the next of its kind only after the window, with the number held back."""
    now = [0.0]
    repeats = logs.Repeats(window_seconds=60, clock=lambda: now[0])
    shown = []
    for second in range(0, 130, 10):
        now[0] = float(second)
        try:
            shown.append(dict(repeats(None, "warning", {"event": "probe_failed", "probe": "disk", "took": second})))
        except structlog.DropEvent:
            continue
    assert [(event["took"], event.get("repeats")) for event in shown] == [(0, None), (60, 5), (120, 5)]


def test_different_faults_are_not_each_others_repeats() -> None:
    """Another probe, text or level is another fault; healthy events are never held back."""
    repeats = logs.Repeats(clock=lambda: 0.0)
    repeats(None, "warning", {"event": "probe_failed", "probe": "disk"})
    repeats(None, "warning", {"event": "probe_failed", "probe": "cpu"})
    repeats(None, "error", {"event": "probe_failed", "probe": "cpu"})
    for _ in range(3):
        assert repeats(None, "info", {"event": "started"}) == {"event": "started"}


def test_a_flood_of_different_faults_stays_bounded() -> None:
    """Text from outside cannot make the memory of repeats grow."""
    repeats = logs.Repeats(limit=10, clock=lambda: 0.0)
    for number in range(1000):
        repeats(None, "error", {"event": "refused", "host": str(number)})
    assert len(repeats._seen) == 10


@given(st.text())
def test_text_from_elsewhere_never_breaks_a_line(text: str) -> None:
    """No line end, no terminal code and no bidirectional trick gets through."""
    line = logs.renderer("terminal")(None, "info", {"event": "seen", "name": text})
    assert line.isprintable()


def test_libraries_speak_through_the_same_lines() -> None:
    """A library's warning becomes an event; its chatter does not."""
    out = written("json")
    logging.getLogger("apscheduler").info("chatter")
    logging.getLogger("apscheduler").warning("missed %s", "it")
    (line,) = map(json.loads, out.getvalue().splitlines())
    assert (line["event"], line["library"], line["message"]) == ("library_message", "apscheduler", "missed it")


def test_a_closed_stream_does_not_stop_the_daemon() -> None:
    """A log that nobody takes is dropped."""
    out = written("json")
    out.close()
    structlog.get_logger().error("unheard")


def test_auto_knows_the_journal_by_its_inode(tmp_path: Path) -> None:
    """JOURNAL_STREAM names device and inode; a redirected stream is not the journal."""
    with (tmp_path / "log").open("w") as stream:
        stat = os.fstat(stream.fileno())
        assert logs.choose_format("auto", stream, {"JOURNAL_STREAM": f"{stat.st_dev}:{stat.st_ino}"}) == "journal"
        assert logs.choose_format("auto", stream, {"JOURNAL_STREAM": "1:2"}) == "terminal"
        assert logs.choose_format("json", stream, {}) == "json"
