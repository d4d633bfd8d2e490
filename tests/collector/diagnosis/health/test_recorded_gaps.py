"""Gaps in what was recorded: told while other hosts go on, by how often each host is read."""

from collections.abc import Iterable
from dataclasses import replace

from flyball_collector.engine.player import EPOCH, Key, Player, Recording, Sample, recording


def test_a_recording_has_gaps_and_no_losses() -> None:
    """A gap is told when the series goes on; steady samples, however seldom, have none."""
    readings: dict[Key, float] = {("cpu_busy_ratio", ()): 0.5}
    times = [float(10 * n) for n in range(30)] + [float(10 * n) for n in range(60, 70)]
    player = Player(recording([Sample(time, "a", readings) for time in times]))
    told = [
        (ticks[-1].sequence, event.kind.name, str(event.state))
        for ticks, events in player.play()
        for event in events
        if event.kind.name in {"data_gap", "host_lost"}
    ]
    assert told == [(30, "data_gap", "raised"), (32, "data_gap", "cleared")]


def _recorded(hosts_until: dict[str, Iterable[int]]) -> Recording:
    """Samples of these hosts at these seconds."""
    readings: dict[Key, float] = {("cpu_busy_ratio", ()): 0.5}
    times = sorted((second, host) for host, seconds in hosts_until.items() for second in seconds)
    return recording([Sample(float(second), host, readings) for second, host in times])


def _gaps(recorded: Recording) -> list[tuple[int, str, str, str]]:
    """(second, host, kind, state) of what is told of gaps and losses."""
    return [
        (event.time_ns // 10**9 - EPOCH, event.subject.host, event.kind.name, str(event.state))
        for _, events in Player(recorded).play()
        for event in events
        if event.kind.name in {"data_gap", "host_lost"}
    ]


def test_a_recorded_series_that_is_over_has_no_gap() -> None:
    """One of two recorded hosts ends long before the other: that is no news."""
    assert _gaps(_recorded({"a": range(30), "b": range(100)})) == []


def test_a_hole_in_a_recorded_series_is_told_while_the_others_go_on() -> None:
    """One of two recorded hosts is silent for a while: a gap from ten seconds on until it is back, and no loss."""
    told = _gaps(_recorded({"a": [*range(30), *range(70, 100)], "b": range(100)}))
    assert told == [(39, "a", "data_gap", "raised"), (76, "a", "data_gap", "cleared")]


def test_a_piece_of_a_longer_life_says_nothing_of_its_end() -> None:
    """In a cut-out, as an incident's, a host that falls silent beside the others has a gap: it may be what happened."""
    piece = replace(_recorded({"a": range(30), "b": range(100)}), ends={})
    assert _gaps(piece) == [(39, "a", "data_gap", "raised")]


def test_each_host_has_its_own_pace() -> None:
    """A host that is read each half minute has no gap beside one that is read each five seconds; a silent one has."""
    often, seldom = range(0, 1800, 5), [at for at in range(0, 1800, 30) if not 600 < at < 1200]
    assert _gaps(_recorded({"a": often, "b": range(0, 1800, 30)})) == []
    assert {host for _, host, _, _ in _gaps(_recorded({"a": often, "b": seldom}))} == {"b"}
    quick = [at for at in often if not 600 < at < 660]
    assert {host for _, host, _, _ in _gaps(_recorded({"a": quick, "b": range(0, 1800, 30)}))} == {"a"}
