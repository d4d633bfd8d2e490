"""Arrays that follow their subjects."""

import math

from flyball_collector.diagnosis.subject import Subject, subjects
from flyball_collector.diagnosis.subject_arrays import Row, SubjectArrays

NAN = float("nan")


def test_values_follow_their_subjects_and_new_ones_get_the_fill() -> None:
    """Subjects may be reordered, removed and added; types and shapes stay the same."""
    kept = SubjectArrays(level=NAN, seen=False, number=7, trail=((3,), 0.0), past=Row(2, 0.5))
    assert kept.align(subjects([Subject("a"), Subject("b")])) is not None
    kept["level"][:] = [1, 2]
    kept["seen"][1] = True
    kept["trail"][1], kept["past"][1] = [1, 2, 3], [4, 5]
    kept.align(subjects([Subject("c"), Subject("b")]))
    assert math.isnan(kept["level"][0])
    assert kept["level"][1] == 2
    assert kept["seen"].tolist() == [False, True]
    assert kept["number"].tolist() == [7, 7]
    assert kept["trail"].tolist() == [[0, 0, 0], [1, 2, 3]]
    assert kept["past"].tolist() == [[0.5, 0.5], [4, 5]]


def test_the_same_subjects_change_nothing() -> None:
    """Aligning with the same object each second does nothing and returns None."""
    kept, of = SubjectArrays(level=0.0), subjects([Subject("a")])
    kept.align(of)
    before = kept["level"]
    assert kept.align(of) is None
    assert kept["level"] is before
