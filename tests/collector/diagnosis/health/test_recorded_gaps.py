"""Gaps in recordings: reported while other hosts continue, depending on each host's interval."""

from collections.abc import Iterable
from dataclasses import replace

from flyball_collector.engine.player import EPOCH, Key, Player, RecordedSample, Recording, recording


def test_a_recording_has_gaps_but_no_losses() -> None:
    """A gap is reported when the series continues; regular samples have no gap, however long the interval is."""
    readings: dict[Key, float] = {("cpu_busy_ratio", ()): 0.5}
    times = [float(10 * n) for n in range(30)] + [float(10 * n) for n in range(60, 70)]
    player = Player(recording([RecordedSample(time, "a", readings) for time in times]))
    found = [
        (ticks[-1].sequence, event.kind.name, str(event.state))
        for ticks, events in player.play()
        for event in events
        if event.kind.name in {"data_gap", "host_lost"}
    ]
    assert found == [(30, "data_gap", "raised"), (32, "data_gap", "cleared")]


def _recorded(hosts_until: dict[str, Iterable[int]]) -> Recording:
    """Return a recording with samples of these hosts at these seconds."""
    readings: dict[Key, float] = {("cpu_busy_ratio", ()): 0.5}
    times = sorted((second, host) for host, seconds in hosts_until.items() for second in seconds)
    return recording([RecordedSample(float(second), host, readings) for second, host in times])


def _gaps(recorded: Recording) -> list[tuple[int, str, str, str]]:
    """Return (second, host, kind, state) of the events about gaps and losses."""
    return [
        (event.time_ns // 10**9 - EPOCH, event.subject.host, event.kind.name, str(event.state))
        for _, events in Player(recorded).play()
        for event in events
        if event.kind.name in {"data_gap", "host_lost"}
    ]


def test_a_recorded_series_that_ended_has_no_gap() -> None:
    """One of two recorded hosts ends long before the other: this is not reported."""
    assert _gaps(_recorded({"a": range(30), "b": range(100)})) == []


def test_a_hole_in_a_recorded_series_is_reported_while_others_continue() -> None:
    """One of two recorded hosts has no samples for a while: a gap after ten seconds until it is back, but no loss."""
    found = _gaps(_recorded({"a": [*range(30), *range(70, 100)], "b": range(100)}))
    assert found == [(39, "a", "data_gap", "raised"), (76, "a", "data_gap", "cleared")]


def test_the_end_of_a_host_in_a_cut_out_is_a_gap() -> None:
    """In a cut-out, such as of an incident, a host that stops before the others has a gap: it may be what happened."""
    piece = replace(_recorded({"a": range(30), "b": range(100)}), ends={})
    assert _gaps(piece) == [(39, "a", "data_gap", "raised")]


def test_each_host_has_its_own_interval() -> None:
    """A host read every half minute has no gap beside one read every five seconds; one that stops has."""
    short, long = range(0, 1800, 5), [at for at in range(0, 1800, 30) if not 600 < at < 1200]
    assert _gaps(_recorded({"a": short, "b": range(0, 1800, 30)})) == []
    assert {host for _, host, _, _ in _gaps(_recorded({"a": short, "b": long}))} == {"b"}
    quick = [at for at in short if not 600 < at < 660]
    assert {host for _, host, _, _ in _gaps(_recorded({"a": quick, "b": range(0, 1800, 30)}))} == {"a"}
