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
def restored_configuration() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers[:], logging.root.level = handlers, level


def written(format: str, level: str = "info") -> io.StringIO:  # noqa: A002
    out = io.StringIO()
    logs.set_up(level, format, out)
    return out


def test_a_terminal_line_has_event_and_keys() -> None:
    """Each event is one line with time, level, name and details."""
    out = written("terminal")
    structlog.get_logger().info("agent_started", host="gpu-01", text="two words", seconds=0.1234567)
    assert out.getvalue().endswith('Z info    agent_started host=gpu-01 text="two words" seconds=0.123457\n')


def test_json_lines_parse() -> None:
    """Each line is a JSON object."""
    out = written("json")
    structlog.get_logger().error("store_failed", path=Path("/x"), count=3)
    line = json.loads(out.getvalue())
    assert (line["event"], line["level"], line["count"]) == ("store_failed", "error", 3)


def test_the_journal_gets_priorities_but_no_time() -> None:
    """The line has a priority <N>, but no time, which the journal adds."""
    out = written("journal", "debug")
    log = structlog.get_logger()
    log.debug("a")
    log.info("b", x=1)
    log.warning("c")
    log.error("d")
    assert out.getvalue() == "<7>a\n<6>b x=1\n<4>c\n<3>d\n"


def test_a_traceback_keeps_its_priority_in_the_journal() -> None:
    """Each line of a traceback has the priority of its event."""
    out = written("journal")
    try:
        raise ValueError("bad\x1b[31m")
    except ValueError:
        structlog.get_logger().exception("failed")
    lines = out.getvalue().splitlines()
    assert all(line.startswith("<3>") for line in lines)
    assert "\x1b" not in out.getvalue()


def test_repeats_are_counted_not_repeated() -> None:
    """The first warning of a kind is logged; the next one only after the window, with the number of repeats."""
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


def test_different_warnings_are_not_repeats() -> None:
    """Warnings that differ in probe, text or level are not repeats, and events below warning are never suppressed."""
    repeats = logs.Repeats(clock=lambda: 0.0)
    repeats(None, "warning", {"event": "probe_failed", "probe": "disk"})
    repeats(None, "warning", {"event": "probe_failed", "probe": "cpu"})
    repeats(None, "error", {"event": "probe_failed", "probe": "cpu"})
    for _ in range(3):
        assert repeats(None, "info", {"event": "started"}) == {"event": "started"}


def test_warnings_with_different_lists_are_not_repeats() -> None:
    """A list of problems belongs to the kind of a warning."""
    repeats = logs.Repeats(clock=lambda: 0.0)
    for problems in (["a"], ["b"]):
        repeats(None, "error", {"event": "settings_not_reloaded", "problems": problems})
    with pytest.raises(structlog.DropEvent):
        repeats(None, "error", {"event": "settings_not_reloaded", "problems": ["a"]})


def test_an_answer_is_never_held_back() -> None:
    """Each answer to a signal is logged, also if it is the same as the one before."""
    out = written("journal")
    for _ in range(3):
        logs.answering(structlog.get_logger()).error("settings_not_reloaded", problem="x")
    assert out.getvalue() == "<3>settings_not_reloaded problem=x\n" * 3


def test_messages_of_the_operating_system_have_no_number() -> None:
    """The text of an error is logged without [Errno …], in every format; a traceback is left as it is."""
    out = written("journal")
    try:
        Path("/nowhere/x").read_bytes()
    except OSError as error:
        structlog.get_logger().error("spool_degraded", error=str(error))
        structlog.get_logger().exception("failed")
    first, *trace = out.getvalue().splitlines()
    assert first == "<3>spool_degraded error=\"No such file or directory: '/nowhere/x'\""
    assert any("[Errno 2]" in line for line in trace)


def test_the_memory_of_repeats_is_limited() -> None:
    """Many different texts do not make the memory of repeats grow without limit."""
    repeats = logs.Repeats(limit=10, clock=lambda: 0.0)
    for number in range(1000):
        repeats(None, "error", {"event": "refused", "host": str(number)})
    assert len(repeats._seen) == 10


@given(st.text())
def test_text_from_outside_never_breaks_a_line(text: str) -> None:
    """Line ends, terminal codes and bidirectional control characters are escaped."""
    line = logs.renderer("terminal")(None, "info", {"event": "seen", "name": text})
    assert line.isprintable()


def test_warnings_of_libraries_are_logged() -> None:
    """A warning of a library becomes an event; its debug messages do not."""
    out = written("json")
    logging.getLogger("apscheduler").info("chatter")
    logging.getLogger("apscheduler").warning("missed %s", "it")
    (line,) = map(json.loads, out.getvalue().splitlines())
    assert (line["event"], line["library"], line["message"]) == ("library_message", "apscheduler", "missed it")


def test_a_closed_stream_does_not_stop_the_daemon() -> None:
    """Lines to a closed stream are dropped."""
    out = written("json")
    out.close()
    structlog.get_logger().error("unheard")


def test_auto_detects_the_journal_by_its_inode(tmp_path: Path) -> None:
    """JOURNAL_STREAM contains device and inode; a redirected stream is not the journal."""
    with (tmp_path / "log").open("w") as stream:
        stat = os.fstat(stream.fileno())
        assert logs.choose_format("auto", stream, {"JOURNAL_STREAM": f"{stat.st_dev}:{stat.st_ino}"}) == "journal"
        assert logs.choose_format("auto", stream, {"JOURNAL_STREAM": "1:2"}) == "terminal"
        assert logs.choose_format("json", stream, {}) == "json"
