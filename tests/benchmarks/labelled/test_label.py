"""A label follows from the loop's own speed, not from what the bench meant to do."""

import pytest

from tests.benchmarks.labelled.label import Phase, Use, label


def phases(*speeds: tuple[str, float | None]) -> list[Phase]:
    """Phases from "cause+cause" (empty: none) and speeds."""
    return [Phase(float(n), n + 1.0, tuple(filter(None, on.split("+"))), speed) for n, (on, speed) in enumerate(speeds)]


def test_a_cause_counts_when_removing_it_helps_by_a_tenth() -> None:
    """Before and after both."""
    found = label(["disk"], phases(("", 11.0), ("disk", 10.0), ("", 12.0)))
    assert (found.use, found.gains) == (Use.SINGLE, {"disk": (1.1, 1.2)})


@pytest.mark.parametrize(("before", "after"), [(10.9, 12.0), (12.0, 10.9), (20.0, 5.0)])
def test_a_cause_that_helps_only_on_one_side_is_dropped(before: float, after: float) -> None:
    """Then the loop changed by itself, or too little."""
    assert label(["disk"], phases(("", before), ("disk", 10.0), ("", after))).use is Use.DROPPED


def test_a_cause_that_changes_nothing_is_a_quiet_episode() -> None:
    """And nobody is to be blamed in it."""
    assert label(["disk"], phases(("", 10.4), ("disk", 10.0), ("", 9.6))).use is Use.QUIET


@pytest.mark.parametrize(("before", "after"), [(13.0, 9.0), (7.0, 10.4), (10.4, 10.4)])
def test_what_is_meant_to_be_harmless_is_so_unless_both_sides_were_faster(before: float, after: float) -> None:
    """A shared machine's own changes do not count as harm."""
    played = phases(("", before), ("nothing", 10.0), ("", after))
    assert label(["nothing"], played, meant_quiet=True).use is Use.QUIET


def test_what_was_meant_to_be_harmless_and_was_not_is_dropped() -> None:
    """It can be scored neither way."""
    played = phases(("", 10.8), ("light-load", 10.0), ("", 11.0))
    assert label(["light-load"], played, meant_quiet=True).use is Use.DROPPED


def test_of_a_mixture_each_cause_is_removed_alone() -> None:
    """The speed without both causes proves neither."""
    both = phases(("", 30.0), ("cpu+disk", 10.0), ("disk", 15.0), ("cpu", 12.0))
    found = label(["cpu", "disk"], both)
    assert (found.use, found.gains) == (Use.MIXED, {"cpu": (1.5,), "disk": (1.2,)})


def test_a_mixture_with_a_harmless_part_is_dropped() -> None:
    """It is neither one nor two."""
    both = phases(("", 30.0), ("cpu+disk", 10.0), ("disk", 15.0), ("cpu", 10.1))
    assert label(["cpu", "disk"], both).use is Use.DROPPED


@pytest.mark.parametrize("speed", [None, 0.0])
def test_without_a_speed_there_is_no_label(speed: float | None) -> None:
    """A loop that made no progress, or died, proves nothing."""
    assert label(["disk"], phases(("", 11.0), ("disk", speed), ("", 12.0))).use is Use.DROPPED
