"""News of hosts: told once, and not in floods."""

from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.host import HostState
from flyball_collector.tick import KnownLayout
from flyball_collector.timeline.host_news import BURST, HostNews
from flyball_collector.timeline.testing import NOW_NS, SECOND_NS
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m"


def at(seconds: float) -> int:
    return NOW_NS + int(seconds * SECOND_NS)


def xid(seconds: float, code: int = 79, text: str = "fell off the bus") -> HostEvent:
    return HostEvent(at(seconds), "gpu_xid", "GPU-1", code, text)


def test_what_an_agent_told_is_news_once() -> None:
    """Each event of a host becomes one note with its time, GPU and words; at first sight only what is fresh."""
    host, news = HostState("a", events=(xid(-4000), xid(-10))), HostNews()
    (first,) = news.look([host], at(0))
    assert (first.time_ns, first.gpu, first.kind, first.state) == (at(-10), "GPU-1", "host_event", "noted")
    assert first.because == "gpu_xid 79: fell off the bus"
    host.events = (*host.events, xid(5, 13, HOSTILE))
    (second,) = news.look([host], at(6))
    assert HOSTILE in second.because
    assert news.look([host], at(7)) == []


def test_a_note_of_a_gpu_has_its_number() -> None:
    """As the host's layout says it; a host whose layout is not known, and what is no GPU, has none."""
    power = gauge("gpu_power_watts", "watts", "Draw.", ("gpu", "index"))
    layout = KnownLayout(Layout((Column(power, ("GPU-1", "6")), Column(power, ("eth0", "2")))))
    full = HostEvent(at(-5), "link_down", "eth0", 0, "")
    notes = HostNews().look([HostState("a", events=(xid(-10), full), layout=layout)], at(0))
    assert [(note.gpu, note.resource, note.gpu_index) for note in notes] == [("GPU-1", "", 6), ("", "eth0", None)]
    (unknown,) = HostNews().look([HostState("a", events=(xid(-10),))], at(0))
    assert unknown.gpu_index is None


def test_a_restart_makes_the_same_note() -> None:
    """Another collector that sees the same event gives it the same id: in the store it is one document."""
    host = HostState("a", events=(xid(-10),))
    ids = {HostNews().look([host], at(later))[0].id for later in (0, 30)}
    assert len(ids) == 1


def test_an_impossible_time_is_replaced() -> None:
    """A clock that is years off does not put an entry where nobody sees it, or never expires it."""
    host = HostState("a", events=(HostEvent(-5, "x", "", 0, ""),))
    news = HostNews()
    news.look([host], at(0))
    host.events = (HostEvent(1 << 62, "oom_kill", "", 0, "python"), HostEvent(0, "x", "", 0, "y"))
    assert {note.time_ns for note in news.look([host], at(1))} == {at(1)}


def test_coming_and_going_is_news_and_a_renewed_stream_is_not() -> None:
    """Back within seconds: nothing. Gone for longer: since when and how; and when it is back."""
    host, news = HostState("a", connected=True, agent_version="1.0"), HostNews()
    assert news.look([host], at(0)) == []
    host.connected = False
    assert news.look([host], at(100)) == []
    host.connected = True
    assert news.look([host], at(103)) == []
    host.connected = False
    assert news.look([host], at(200)) == []
    assert news.look([host], at(210)) == []
    (gone,) = news.look([host], at(216))
    assert (gone.kind, gone.time_ns) == ("host_disconnected", at(200))
    assert "without a goodbye" in gone.because
    assert news.look([host], at(300)) == []
    host.connected = True
    (back,) = news.look([host], at(301))
    assert (back.kind, back.because) == ("host_connected", "agent 1.0")


def test_a_fleet_that_returns_after_our_restart_is_no_news() -> None:
    """Hosts that connect in the first minute were there before; one that comes later is told."""
    news = HostNews()
    news.look([], at(0))
    early = HostState("early", connected=True)
    assert news.look([early], at(20)) == []
    late = HostState("late", connected=True)
    assert [note.host for note in news.look([early, late], at(100))] == ["late"]


def test_a_flood_is_counted_not_repeated() -> None:
    """A thousand events of one host become some notes and a number; another host is told all the same."""
    loud, quiet, news = HostState("loud"), HostState("quiet"), HostNews()
    news.look([loud, quiet], at(0))
    notes = []
    for second in range(1, 1001):
        loud.events = (*loud.events, xid(second))[-64:]
        notes += news.look([loud, quiet], at(second))
    assert len(notes) < BURST + 1000 / 60 + 5
    quiet.events = (xid(1001, 48),)
    assert [note.host for note in news.look([loud, quiet], at(1001)) if note.host == "quiet"] == ["quiet"]
    for second in range(1002, 3000):
        notes += news.look([loud, quiet], at(second))
    left_out = [note for note in notes if note.kind == "events_left_out"]
    told = sum(note.kind == "host_event" for note in notes)
    assert told + sum(int(note.because.split()[0]) for note in left_out) == 1000


def test_a_forgotten_host_is_forgotten() -> None:
    """A host that left the fleet takes no memory, and is met anew."""
    news = HostNews()
    news.look([HostState("a"), HostState("b")], at(0))
    news.look([HostState("a")], at(1))
    (met,) = news.look([HostState("a"), HostState("b", connected=True)], at(100))
    assert met.kind == "host_connected"
