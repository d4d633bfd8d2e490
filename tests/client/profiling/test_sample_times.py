"""The times of samples, and the number that is kept."""

from hypothesis import given
from hypothesis import strategies as st

from flyball.profiling.sample_times import COST_SHARE, EARLY_SECONDS, MOST_SHARE, cost_share, seconds_until_next
from flyball.profiling.thinned_list import ThinnedList


def test_a_short_program_has_early_samples() -> None:
    """They are due before the first interval is over."""
    times, now = [], 0.0
    for _ in range(6):
        now += seconds_until_next(now, 1.0, 0.0001)
        times.append(round(now, 6))
    assert times == [*EARLY_SECONDS, 1.0, 2.0, 3.0]


@given(st.floats(0.0, 1e6), st.floats(0.01, 3600), st.floats(0.0, 10.0))
def test_samples_never_cost_more_than_their_share(elapsed: float, interval: float, cost: float) -> None:
    """Samples that are expensive, because the tree is large, are rarer."""
    wait = seconds_until_next(elapsed, interval, cost)
    assert wait > 0
    assert wait >= cost / cost_share(interval) or cost < 0.002
    assert cost_share(interval) <= (COST_SHARE if interval >= 1 else MOST_SHARE)


@given(st.floats(1.0, 1e5), st.floats(0.5, 60))
def test_delays_do_not_add_up(elapsed: float, interval: float) -> None:
    """The next sample is due at a multiple of the interval after the start, at most one and a tenth away."""
    due = elapsed + seconds_until_next(elapsed, interval, 0.0)
    assert abs(due / interval - round(due / interval)) < 1e-6
    assert 0 < due - elapsed <= 1.1 * interval


@given(st.integers(2, 20).map(lambda half: 2 * half), st.integers(0, 500))
def test_a_list_keeps_an_even_selection(most: int, count: int) -> None:
    """The first value is always kept, and the distances are equal."""
    kept: ThinnedList[int] = ThinnedList(most)
    for value in range(count):
        kept.add(value)
    found = kept.items()
    assert len(kept) == count
    assert len(found) <= most
    assert len(found) >= min(count, most // 2)
    assert found == list(range(0, count, found[1] if len(found) > 1 else 1))
