"""Torn, corrupted and foreign files in the spool: what can be read is sent, the rest is declared, the agent lives."""

import random
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.conftest import AgentMaker
from tests.judge import assert_whole, last_sequence
from tests.processes import Agent, Collector, wait_for
from tests.stored import read_stored

pytestmark = pytest.mark.faults


def _filled(collector: Collector, make_agent: AgentMaker) -> Agent:
    """An agent killed after about four seconds without a collector."""
    collector.kill()
    agent = make_agent(spool__segment_bytes=16384).start()
    wait_for("the spool has segments", lambda: len(_segments(agent)) >= 2)
    time.sleep(3)
    agent.kill()
    return agent


def _segments(agent: Agent) -> list[Path]:
    return sorted(path for path in (agent.state / "spool").rglob("*") if _size(path) > 200)


def _size(path: Path) -> int:
    """Return the size of a file; 0 if it was removed meanwhile, and for folders."""
    with suppress(FileNotFoundError):
        return path.stat().st_size if path.is_file() else 0
    return 0


def _recovers(collector: Collector, agent: Agent, at_least: int) -> None:
    collector.start_ready()
    agent.start()
    wait_for("the new life is heard", lambda: last_sequence(collector, "node-1") > 5)
    wait_for("the old life is stored", lambda: len(read_stored(collector.database, "node-1")) >= 1)
    stored = assert_whole(collector, agent, "node-1", at_least=at_least)
    assert len(stored) == 2


def test_a_torn_tail_is_cut_off(collector: Collector, make_agent: AgentMaker) -> None:
    """Power was lost in the middle of a write."""
    agent = _filled(collector, make_agent)
    newest = max(_segments(agent), key=lambda path: path.stat().st_mtime_ns)
    with newest.open("r+b") as segment:
        segment.truncate(newest.stat().st_size - 7)
    _recovers(collector, agent, at_least=10)


def test_flipped_bytes_cost_their_records_only_and_are_declared(collector: Collector, make_agent: AgentMaker) -> None:
    """A disk that lies: the damaged records are declared lost, the others arrive."""
    agent = _filled(collector, make_agent)
    oldest = min(_segments(agent), key=lambda path: path.stat().st_mtime_ns)
    data = bytearray(oldest.read_bytes())
    for position in random.Random(7).sample(range(len(data) // 2, len(data)), 3):
        data[position] ^= 0xFF
    oldest.write_bytes(data)
    _recovers(collector, agent, at_least=5)


def test_a_damaged_head_of_the_oldest_file_is_declared(collector: Collector, make_agent: AgentMaker) -> None:
    """A whole sector at the head of the oldest segment is gone: what lay there is declared lost, the rest arrives."""
    agent = _filled(collector, make_agent)
    oldest = min(_segments(agent), key=lambda path: path.stat().st_mtime_ns)
    oldest.write_bytes(bytes(4096) + oldest.read_bytes()[4096:])
    _recovers(collector, agent, at_least=5)


def test_rubbish_and_foreign_files_are_left_alone(collector: Collector, make_agent: AgentMaker) -> None:
    """A file that is not a segment is neither sent nor deleted and does not stop the agent."""
    agent = _filled(collector, make_agent)
    foreign = agent.state / "spool" / "notes.txt"
    foreign.write_text("not a segment")
    segment = min(_segments(agent), key=lambda path: path.stat().st_mtime_ns)
    segment.with_name("0" * 32 + segment.suffix).write_bytes(random.Random(3).randbytes(5000))
    _recovers(collector, agent, at_least=5)
    assert foreign.read_text() == "not a segment"


def test_a_spool_over_its_bound_declares_what_it_dropped(collector: Collector, make_agent: AgentMaker) -> None:
    """With room for a few seconds only, the oldest is dropped, counted and declared lost, never silently."""
    collector.kill()
    agent = make_agent(spool__max_bytes=60_000, spool__segment_bytes=10_000).start()
    wait_for("segments exist", lambda: len(_segments(agent)) >= 2)
    oldest = _segments(agent)[0]
    wait_for("the oldest one is dropped", lambda: not oldest.exists())
    assert sum(map(_size, _segments(agent))) < 120_000
    collector.start_ready()
    wait_for("heard", lambda: last_sequence(collector, "node-1") > 5)
    stored = assert_whole(collector, agent, "node-1", at_least=5)
    (found,) = stored.values()
    assert found.lost
    assert not found.lost & found.present


def test_two_agents_cannot_share_a_state_directory(collector: Collector, make_agent: AgentMaker) -> None:
    """The second agent ends at once and logs the reason."""
    first = make_agent("first").start()
    wait_for("the first is heard", lambda: last_sequence(collector, "first") > 0)
    second = make_agent("second", state_directory=first.state).start()
    assert second.child.wait(60) != 0
    assert str(first.state) in second.log.read_text()
    assert "Traceback" not in second.log.read_text()
    assert first.alive()
