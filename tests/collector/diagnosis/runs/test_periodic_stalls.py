"""Runs that stop in regular distance."""

from collections.abc import Iterable

import numpy as np
import pytest

from flyball_collector.diagnosis.event import Event
from flyball_collector.engine.testing.runs import brief, play, step
from flyball_proto.v1 import telemetry_pb2 as pb

STALL = 22
SECTIONS = {"forward": 0.2}


def played(
    length: int, stalls: Iterable[int], ranks: int = 3, section: str = "", seconds: int = STALL, every: int = 5
) -> list[Event]:
    """Play a run that stops at these times; `section` is the name under which it reports this time."""
    rng = np.random.default_rng(1)
    begins = sorted(stalls)

    def report(rank: int, second: int) -> pb.StepReport | None:
        if any(begin < second < begin + seconds for begin in begins):
            return None
        ended = any(begin + seconds <= second < begin + seconds + every for begin in begins)
        took = 0.3 * float(np.exp(rng.normal(0, 0.03))) + (seconds if ended else 0)
        sections = SECTIONS | ({section: float(seconds if ended else 0)} if section else {})
        return step(rank, second, took, section_seconds=sections)

    found, _ = play(ranks, range(0, length, every), report)
    return [event for event in found if event.kind.name == "periodic_stalls"]


@pytest.mark.parametrize(("ranks", "every", "period"), [(1, 1, 60), (3, 5, 180)])
def test_stalls_in_regular_distance_are_named_with_their_period(ranks: int, every: int, period: int) -> None:
    """Four stalls of 22 s are enough. Their period and the time they cost are in the evidence."""
    events = played(80 + 4 * period, range(80, 80 + 4 * period, period), ranks=ranks, every=every)
    assert [event.state.value for event in events] == ["raised"]
    event = events[0]
    assert event.evidence["period_seconds"] == pytest.approx(period, abs=every)
    assert event.evidence["stall_seconds"] == pytest.approx(STALL, abs=every)
    assert event.evidence["lost_ratio"] == pytest.approx(STALL / period, abs=0.03)
    assert f"every {period // 60} min" in event.because
    assert "checkpoints" not in event.because


def test_stalls_that_end_are_cleared() -> None:
    """The next stall is overdue, so the run has no regular stalls any more."""
    events = played(700, range(80, 380, 75), ranks=1)
    assert [event.state.value for event in events] == ["raised", "cleared"]


def test_a_section_explains_the_stalls() -> None:
    """A section for checkpoints shows what takes the time."""
    events = played(500, range(60, 500, 100), ranks=2, section="save_checkpoint")
    assert "sections for checkpoints" in events[-1].because
    assert events[-1].evidence["marked_ratio"] == pytest.approx(1.0, abs=0.1)


def test_stalls_in_irregular_distance_are_not_periodic() -> None:
    """A busy file system stops a run now and then, but not in regular distance."""
    rng = np.random.default_rng(2)
    assert played(850, np.cumsum(rng.integers(40, 130, 9)).tolist(), ranks=1) == []


def test_short_stalls_do_not_matter() -> None:
    """Four seconds in every three and a half minutes are less than two percent of the time."""
    assert played(900, range(60, 900, 210), ranks=1, seconds=4) == []


def test_one_rank_that_stalls_alone_is_not_the_run() -> None:
    """Others go on: it is that rank's matter."""

    def report(rank: int, second: int) -> pb.StepReport | None:
        return None if rank == 1 and second % 100 < STALL else step(rank, second, 0.3)

    found, _ = play(4, range(0, 650, 5), report)
    assert brief(found, "periodic_stalls") == []
