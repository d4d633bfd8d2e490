"""Tests of the time of the next tick."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.schedule import NANOSECONDS, due_ns, spread_ns

walls = st.integers(0, 4_000_000_000 * NANOSECONDS)
intervals = st.sampled_from([100_000_000, NANOSECONDS, 10 * NANOSECONDS, 60 * NANOSECONDS])


@given(walls, st.integers(0, 10**15), intervals)
def test_a_tick_is_never_further_than_an_interval_and_a_half(wall_ns: int, since_ns: int, interval_ns: int) -> None:
    """At any time, the next tick is within 1.5 intervals and at a multiple of the interval."""
    due = due_ns(wall_ns, since_ns, interval_ns)
    assert 0 < due < 1.5 * interval_ns
    assert (wall_ns + due) % interval_ns == 0


@given(walls, st.integers(0, 10**15), intervals)
def test_ticks_never_follow_too_closely(wall_ns: int, since_ns: int, interval_ns: int) -> None:
    """Two ticks are at least half an interval from each other."""
    assert since_ns + due_ns(wall_ns, since_ns, interval_ns) >= interval_ns // 2


@given(walls, st.integers(-3_600_000, 3_600_000), intervals)
def test_a_clock_jump_causes_neither_pause_nor_burst(wall_ns: int, step_ms: int, interval_ns: int) -> None:
    """After a jump of up to an hour the wait has the same limits as without one."""
    stepped = max(0, wall_ns + step_ms * 1_000_000)
    assert interval_ns // 2 <= interval_ns // 4 + due_ns(stepped, interval_ns // 4, interval_ns) < 1.75 * interval_ns


def test_a_tick_woken_early_is_not_repeated() -> None:
    """A timer that fires 1 ms before the second produces the tick of that second."""
    assert due_ns(999_000_000, 0, NANOSECONDS) == NANOSECONDS + 1_000_000


@given(st.text(max_size=30), intervals)
def test_sending_is_spread_inside_the_interval(host: str, interval_ns: int) -> None:
    """Every host has its own fixed offset inside the interval."""
    assert 0 <= spread_ns(host, interval_ns) <= 0.9 * interval_ns
    assert spread_ns(host, interval_ns) == spread_ns(host, interval_ns)
