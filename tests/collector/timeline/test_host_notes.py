"""Notes about hosts: each once, and without flooding."""

from typing import Any

import pytest

from flyball_collector.fleet.adjustment_outcomes import AdjustmentOutcome
from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.host import HostState
from flyball_collector.tick import KnownLayout
from flyball_collector.timeline.host_notes import BURST, HostNotes
from flyball_collector.timeline.testing import NOW_NS, SECOND_NS
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m"


def at(seconds: float) -> int:
    return NOW_NS + int(seconds * SECOND_NS)


def xid(seconds: float, code: int = 79, text: str = "fell off the bus") -> HostEvent:
    return HostEvent(at(seconds), "gpu_xid", "GPU-1", code, text)


def test_an_agents_event_is_noted_once() -> None:
    """Each event gives one note with its time, GPU and text; at the first sight of a host only recent ones do."""
    host, host_notes = HostState("a", events=(xid(-4000), xid(-10))), HostNotes()
    (first,) = host_notes.update([host], at(0))
    assert (first.time_ns, first.gpu, first.kind, first.state) == (at(-10), "GPU-1", "host_event", "noted")
    assert first.because == "gpu_xid 79: fell off the bus"
    host.events = (*host.events, xid(5, 13, HOSTILE))
    (second,) = host_notes.update([host], at(6))
    assert HOSTILE in second.because
    assert host_notes.update([host], at(7)) == []


def outcome(seconds: float, reason: str = "in backward", **fields: Any) -> AdjustmentOutcome:
    """Return what a rank did when memory ran out."""
    return AdjustmentOutcome(
        at(seconds), "r", 1, 3, 12, "out_of_memory", "", "micro_batch", "8", "4", "", 251, reason, 0.8
    )._replace(**fields)


def test_a_rank_without_memory_is_noted_once() -> None:
    """The note has the run, the rank, the step and what it did; answers to offers are noted elsewhere."""
    host, host_notes = HostState("a", outcomes=(outcome(-10),)), HostNotes()
    (note,) = host_notes.update([host], at(0))
    assert (note.kind, note.run, note.rank, note.severity) == ("out_of_memory_recovered", "r", 3, "info")
    assert note.because == "out of memory at step 251 (in backward); micro_batch 8 → 4; the repetition took 0.8 s"
    host.outcomes = (*host.outcomes, outcome(1, outcome="applied"), outcome(2, "in optimizer; not recovered", name=""))
    (worse,) = host_notes.update([host], at(3))
    assert (worse.kind, worse.severity) == ("out_of_memory", "warning")
    assert worse.because == "out of memory at step 251 (in optimizer); the step could not be repeated"
    assert host_notes.update([host], at(4)) == []


@pytest.mark.parametrize(("to", "kept"), [("", ""), ("4", "; the next start begins with 4")])
def test_a_step_that_failed_changed_nothing(to: str, kept: str) -> None:
    """Without a repetition, no value has changed; at most the next start has a smaller one."""
    failed = outcome(-10, "in backward; not recovered", value_to=to)
    (note,) = HostNotes().update([HostState("a", outcomes=(failed,))], at(0))
    assert note.because == (
        f"out of memory at step 251 (in backward) with micro_batch 8{kept}; the step could not be repeated"
    )


def test_a_note_about_a_gpu_has_its_number() -> None:
    """The number is from the host's layout; without a layout, and for other resources, there is none."""
    power = gauge("gpu_power_watts", "watts", "Draw.", ("gpu", "index"))
    layout = KnownLayout(Layout((Column(power, ("GPU-1", "6")), Column(power, ("eth0", "2")))))
    full = HostEvent(at(-5), "link_down", "eth0", 0, "")
    notes = HostNotes().update([HostState("a", events=(xid(-10), full), layout=layout)], at(0))
    assert [(note.gpu, note.resource, note.gpu_index) for note in notes] == [("GPU-1", "", 6), ("", "eth0", None)]
    (unknown,) = HostNotes().update([HostState("a", events=(xid(-10),))], at(0))
    assert unknown.gpu_index is None


def test_a_restart_gives_the_same_note() -> None:
    """Another collector gives the same event the same id, so the store has one document."""
    host = HostState("a", events=(xid(-10),))
    ids = {HostNotes().update([host], at(later))[0].id for later in (0, 30)}
    assert len(ids) == 1


def test_an_impossible_time_is_replaced_by_the_current_one() -> None:
    """A clock that is years off cannot hide an entry or keep it from expiring."""
    host = HostState("a", events=(HostEvent(-5, "x", "", 0, ""),))
    host_notes = HostNotes()
    host_notes.update([host], at(0))
    host.events = (HostEvent(1 << 62, "oom_kill", "", 0, "python"), HostEvent(0, "x", "", 0, "y"))
    assert {note.time_ns for note in host_notes.update([host], at(1))} == {at(1)}


def test_connections_are_noted_but_not_a_renewed_stream() -> None:
    """No note for a break of seconds; for a longer one the time and the way it ended, and the reconnection."""
    host, host_notes = HostState("a", connected=True, agent_version="1.0"), HostNotes()
    assert host_notes.update([host], at(0)) == []
    host.connected = False
    assert host_notes.update([host], at(100)) == []
    host.connected = True
    assert host_notes.update([host], at(103)) == []
    host.connected = False
    assert host_notes.update([host], at(200)) == []
    assert host_notes.update([host], at(210)) == []
    (gone,) = host_notes.update([host], at(216))
    assert (gone.kind, gone.time_ns) == ("host_disconnected", at(200))
    assert "without a goodbye" in gone.because
    assert host_notes.update([host], at(300)) == []
    host.connected = True
    (back,) = host_notes.update([host], at(301))
    assert (back.kind, back.because) == ("host_connected", "agent 1.0")


def test_hosts_that_reconnect_after_a_restart_are_not_noted() -> None:
    """Hosts that connect in the first minute were there before; a later one is noted."""
    host_notes = HostNotes()
    host_notes.update([], at(0))
    early = HostState("early", connected=True)
    assert host_notes.update([early], at(20)) == []
    late = HostState("late", connected=True)
    assert [note.host for note in host_notes.update([early, late], at(100))] == ["late"]


def test_a_flood_is_counted() -> None:
    """A thousand events of one host give some notes and a count; another host's notes are not affected."""
    loud, quiet, host_notes = HostState("loud"), HostState("quiet"), HostNotes()
    host_notes.update([loud, quiet], at(0))
    notes = []
    for second in range(1, 1001):
        loud.events = (*loud.events, xid(second))[-64:]
        notes += host_notes.update([loud, quiet], at(second))
    assert len(notes) < BURST + 1000 / 60 + 5
    quiet.events = (xid(1001, 48),)
    assert [note.host for note in host_notes.update([loud, quiet], at(1001)) if note.host == "quiet"] == ["quiet"]
    for second in range(1002, 3000):
        notes += host_notes.update([loud, quiet], at(second))
    left_out = [note for note in notes if note.kind == "events_left_out"]
    noted = sum(note.kind == "host_event" for note in notes)
    assert noted + sum(int(note.because.split()[0]) for note in left_out) == 1000


def test_a_removed_host_is_forgotten() -> None:
    """It takes no memory, and is new when it returns."""
    host_notes = HostNotes()
    host_notes.update([HostState("a"), HostState("b")], at(0))
    host_notes.update([HostState("a")], at(1))
    (met,) = host_notes.update([HostState("a"), HostState("b", connected=True)], at(100))
    assert met.kind == "host_connected"
