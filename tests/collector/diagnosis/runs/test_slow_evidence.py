"""The sequential test behind slow ranks."""

import numpy as np
import pytest

from flyball_collector.diagnosis.runs.slow_evidence import SlowEvidence
from flyball_collector.diagnosis.subject import Subject, subjects

LEAST = float(np.log1p(0.12))
ONE = subjects([Subject("a", run="r", rank=0)])


def named_after(excess: list[float], spread: float = 0.0) -> list[int]:
    """Return the reports after which the rank is named for the first time, and each time it is named again."""
    evidence = SlowEvidence(LEAST)
    evidence.align(ONE)
    found, before = [], False
    for number, one in enumerate(excess, 1):
        evidence.take(np.array([one]), np.array([spread]))
        if (now := bool(evidence.named[0])) and not before:
            found.append(number)
        before = now
    return found


@pytest.mark.parametrize("ratio", [1.5, 1.9, 4.0])
def test_five_clearly_slow_reports_name_a_rank_and_four_do_not(ratio: float) -> None:
    """A report counts in full from about 1.35 times on, and no more for being longer."""
    slow = float(np.log(ratio))
    assert named_after([0.0] * 20 + [slow] * 5) == [25]
    assert named_after([0.0] * 20 + [slow] * 4 + [0.0] * 20) == []


def test_single_slow_reports_name_no_rank() -> None:
    """One report in ten is three times as long, again and again."""
    assert named_after(([0.0] * 9 + [1.1]) * 60) == []


def test_a_rank_with_frequent_slow_reports_needs_more_of_them() -> None:
    """Five in a row prove less if pairs of slow reports are usual."""
    usual = ([0.0] * 14 + [0.5] * 2) * 60 + [0.0] * 14
    (named,) = named_after(usual + [0.5] * 20)
    assert named - len(usual) == 7


def test_a_small_shift_needs_up_to_twenty_reports() -> None:
    """A shift below the least one never names a rank."""
    (reports,) = named_after([float(np.log(1.2))] * 40)
    assert 10 <= reports <= 20
    assert named_after([float(np.log(1.1))] * 500) == []


def test_what_ranks_differ_anyway_proves_nothing() -> None:
    """A fifth more is usual where ranks differ by a tenth."""
    assert named_after([float(np.log(1.2))] * 60, spread=0.1) == []


def test_a_phase_that_comes_back_must_last_longer() -> None:
    """A phase of ten reports is named once; a longer one is named again."""
    slow = float(np.log(1.8))
    phases = ([slow] * 10 + [0.0] * 60) * 4
    assert named_after(phases) == [5]
    first, again = named_after(phases + [slow] * 60)
    assert first == 5
    assert again - len(phases) <= 40


def test_an_unknown_report_changes_nothing() -> None:
    """A second without a report proves nothing."""
    slow = float(np.log(1.6))
    assert named_after([0.0] * 10 + [slow, float("nan")] * 5) == [19]
