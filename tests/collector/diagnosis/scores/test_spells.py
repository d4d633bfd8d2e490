"""Spells of gaps are one condition."""

import numpy as np

from flyball_collector.diagnosis.scores.spells import Spells
from flyball_collector.diagnosis.subject import Subject, subjects
from flyball_collector.engine.player import Player, RecordedSample, recording
from tests.collector.diagnosis.scores.test_conformance import Machine, varying

HOST = subjects([Subject("a")], [0])


def followed(on: list[int], length: int) -> list[bool]:
    """Return for each second whether a bottleneck is held that is there in the seconds of `on`."""
    spells = Spells()
    found = []
    for second in range(length):
        there = np.array([second in on])
        found.append(bool(spells.held(HOST, there, there, float(second))[0]))
    return found


def test_a_bottleneck_that_returns_is_held() -> None:
    """From its first return on it is held for some minutes, so it is not cleared between two gaps."""
    held = followed([0, 60, 120, 180], 400)
    assert not any(held[:60])
    assert all(held[60:330])
    assert not any(held[331:])


def test_a_bottleneck_that_ends_is_not_held() -> None:
    """A long one that ends once is cleared as soon as ever."""
    assert not any(followed(list(range(100)), 300))


def test_a_spell_of_gaps_is_one_condition() -> None:
    """A GPU has gaps of seconds every two minutes: the second one shows that it is a spell, and no other is raised."""
    machine, samples = Machine(), []
    for second in range(0, 840, 2):
        gap = 60 <= second < 600 and (second - 60) % 130 < 14
        card = {"gpu_utilization_ratio": 0.0 if gap else 0.97, **varying(second)}
        samples.append(RecordedSample(float(second), "host", machine.second(card=card), []))
    counters = {key[0] for key in samples[0].readings if key[0].endswith("_total")}
    player = Player(recording(samples, counters))
    events = [event for _, found in player.play() for event in found if event.kind.name == "bottleneck_data_wait"]
    changes = [event.state.value for event in events if event.state.value != "changed"]
    assert changes == ["raised", "cleared", "raised", "cleared"]
    assert events[-1].time_ns - events[0].time_ns > 600 * 10**9
