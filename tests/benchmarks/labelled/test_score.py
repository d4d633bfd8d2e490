"""Scores count episodes and separate right from wrong answers."""

from collections import Counter

import pytest

from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.label import Label, Use
from tests.benchmarks.labelled.picture import calibration_svg
from tests.benchmarks.labelled.score import (
    Statement,
    base_is_right,
    calibration,
    calibration_error,
    confusion,
    delays,
    is_right,
    statements,
)
from tests.benchmarks.labelled.verdict import Blame, Verdict, base_primary

CPU, DISK, WAIT = "bottleneck_cpu", "bottleneck_disk", "bottleneck_data_wait"


def episode(use: Use, causes: tuple[str, ...] = (), truth: tuple[tuple[str, ...], ...] = ()) -> Recorded:
    """Make an episode that has only a label."""
    return Recorded("e", 1, causes, causes, True, truth, (), (), Label(use, "", {}), 100.0, 110.0)


def verdict(
    *active: tuple[str, float], ever: tuple[str, ...] | None = None, base: str = "", after: float = 6.0
) -> Verdict:
    """Make a verdict from active bottlenecks with their confidence, the first ranked first."""
    blames = tuple(Blame(kind, confidence, 2.0) for kind, confidence in active)
    kinds = tuple(kind for kind, _ in active)
    return Verdict(
        kinds[0] if kinds else "", blames, kinds if ever is None else ever, (), dict.fromkeys(kinds, after), base, {}
    )


def test_a_single_cause_is_right_when_it_is_ranked_first() -> None:
    """Naming it second is not enough."""
    recorded = episode(Use.SINGLE, ("disk",), ((DISK,),))
    assert is_right(recorded, verdict((DISK, 0.9), (CPU, 0.9)))
    assert not is_right(recorded, verdict((CPU, 0.9), (DISK, 0.9)))
    assert not is_right(recorded, verdict())


def test_a_mixture_is_right_when_both_are_active() -> None:
    """The order does not matter."""
    recorded = episode(Use.MIXED, ("cpu", "waiting"), ((CPU,), (WAIT, DISK)))
    assert is_right(recorded, verdict((DISK, 0.9), (CPU, 0.9)))
    assert not is_right(recorded, verdict((CPU, 0.9)))


def test_a_quiet_episode_is_right_when_nothing_was_ever_raised() -> None:
    """A bottleneck that was raised and cleared again counts as blamed."""
    assert is_right(episode(Use.QUIET), verdict())
    assert not is_right(episode(Use.QUIET), verdict(ever=(CPU,)))


def test_the_base_formula_is_credited_with_its_best_answer() -> None:
    """It has no word for swap; one cause of a mixture will do; on quiet episodes it must not be sure."""
    assert base_is_right(episode(Use.SINGLE, ("swap",)), verdict(base="memory"))
    assert not base_is_right(episode(Use.SINGLE, ("disk",)), verdict(base="cpu"))
    assert base_is_right(episode(Use.MIXED, ("cpu", "disk")), verdict(base="cpu"))
    assert base_is_right(episode(Use.QUIET), verdict(base=""))
    assert base_primary({"cpu": 0.4, "disk": 0.2}) == ""
    assert base_primary({"cpu": 0.4, "disk": 0.6}) == "disk"


def test_the_matrix_counts_each_episode_once() -> None:
    """Mixtures have no single truth and stay out."""
    pairs = [
        (episode(Use.SINGLE, ("disk",), ((DISK,),)), verdict((DISK, 0.9), (CPU, 0.9))),
        (episode(Use.SINGLE, ("disk",), ((DISK,),)), verdict((CPU, 0.9))),
        (episode(Use.QUIET), verdict()),
        (episode(Use.MIXED, ("cpu", "disk"), ((CPU,), (DISK,))), verdict((CPU, 0.9))),
    ]
    matrix = confusion(pairs, lambda v: v.primary)
    assert matrix == {"disk": Counter({DISK: 1, CPU: 1}), "nothing": Counter({"nothing": 1})}


def test_calibration_compares_confidence_with_truth() -> None:
    """Every active bottleneck is a statement, also a wrong one and one in a quiet episode."""
    pairs = [
        (episode(Use.SINGLE, ("disk",), ((DISK,),)), verdict((DISK, 0.85), (CPU, 0.4))),
        (episode(Use.QUIET), verdict((CPU, 0.82))),
    ]
    found = statements(pairs)
    assert found == [(DISK, 0.85, True, 2.0), (CPU, 0.4, False, 2.0), (CPU, 0.82, False, 2.0)]
    bins = calibration(found)
    assert [(b.low, b.right.hits, b.right.of) for b in bins] == [(0.3, 0, 1), (0.8, 1, 2)]
    assert calibration_error(found) == pytest.approx((0.4 + 2 * abs(0.835 - 0.5)) / 3)
    assert calibration_error([]) is None


def test_certainty_itself_has_a_bin() -> None:
    """The last bin includes its upper edge."""
    assert [b.right.of for b in calibration([Statement(CPU, 1.0, True)])] == [1]


def test_delays_count_from_the_beginning_of_the_cause() -> None:
    """An episode without a raised condition has no delay but is counted."""
    single = episode(Use.SINGLE, ("disk",), ((DISK,),))
    found = delays(
        [(single, verdict((DISK, 0.9), after=6.0)), (single, verdict((DISK, 0.9), after=8.0)), (single, verdict())]
    )
    assert (found["disk"].found, found["disk"].of) == (2, 3)
    assert (found["disk"].median_seconds, found["disk"].slowest_seconds) == (7.0, 8.0)


def test_the_picture_shows_each_bin() -> None:
    """Each bin is a circle with a label."""
    bins = calibration([Statement(CPU, 0.85, True), Statement(CPU, 0.35, False)])
    svg = calibration_svg(bins, "Title")
    assert svg.count("<circle") == 2
    assert "100.0% (1/1" in svg
