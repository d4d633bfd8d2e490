"""Rings of lows and highs, newest readings and ladders."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.forecast.fill_forecast import RINGS
from flyball_collector.diagnosis.forecast.history import History, Ladder, MinMaxRing, NewestReadings

ROWS = np.arange(2)


def numbers(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, dtype=np.float32)


def test_a_slot_keeps_the_lowest_and_the_highest_reading() -> None:
    """Unknown readings do not count."""
    ring = MinMaxRing(10.0, 4, 2)
    for second, value in enumerate((5, 3, 8, np.nan)):
        ring.add(100.0 + second, numbers(value, 1))
    stretch = ring.last(4)
    assert stretch.times.tolist() == [103.0]
    assert stretch.low.tolist() == [[3.0, 1.0]]
    assert stretch.high.tolist() == [[8.0, 1.0]]


def test_the_oldest_slot_is_replaced() -> None:
    """A ring holds its newest slots, oldest first."""
    ring = MinMaxRing(10.0, 4, 1)
    for slot in range(7):
        ring.add(1000.0 + 10 * slot, numbers(slot))
    assert ring.last(4).high[:, 0].tolist() == [3.0, 4.0, 5.0, 6.0]
    assert ring.last(0, skip=1).high[:, 0].tolist() == [3.0, 4.0, 5.0]
    assert ring.highs_back(2, np.array([0])).tolist() == [4.0]
    assert np.isnan(ring.highs_back(4, np.array([0]))).all()


def test_slots_without_readings_are_unknown() -> None:
    """After a gap longer than the ring, or if the clock goes back, the ring starts again."""
    ring = MinMaxRing(10.0, 4, 1)
    ring.add(1000.0, numbers(1))
    ring.add(1020.0, numbers(2))
    assert ring.last(4).high[:, 0].tolist() == [1.0, 2.0]
    assert np.isnan(ring.highs_back(1, np.array([0]))).all()
    ring.add(2000.0, numbers(3))
    assert ring.last(4).high[:, 0].tolist() == [3.0]
    ring.add(500.0, numbers(4))
    assert ring.last(4).high[:, 0].tolist() == [4.0]


def test_stored_readings_are_merged_with_live_ones() -> None:
    """Minutes from the store fill the slots of their time in any order, but not those before the ring."""
    ring = MinMaxRing(60.0, 4, 2)
    ring.add(6010.0, numbers(5, 5))
    ring.merge(np.array([5830.0, 5890.0, 6005.0, 1000.0]), 0, np.array([1.0, 2, 3, 9]), np.array([2.0, 4, 6, 9]))
    stretch = ring.last(4)
    assert stretch.low[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert stretch.high[:, 0].tolist() == [2.0, 4.0, 6.0]
    assert stretch.low[-1, 1] == 5.0


def test_each_row_has_its_own_newest_readings() -> None:
    """Rows that report at different times keep their latest readings with their own times."""
    newest = NewestReadings(4, 2)
    for second in range(6):
        newest.add(float(second), numbers(second, np.nan if second % 2 else 10 * second))
    stretch = newest.last(3, ROWS)
    assert stretch.high[:, 0].tolist() == [3.0, 4.0, 5.0]
    assert stretch.high[:, 1].tolist() == [0.0, 20.0, 40.0]
    assert stretch.times[:, 1].tolist() == [0.0, 2.0, 4.0]
    assert np.isnan(newest.last(4, ROWS).high[0, 1])
    assert newest.back(1, ROWS)[1].tolist() == [4.0, 20.0]


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from([np.nan, *range(9)]), min_size=3, max_size=3), st.booleans()), max_size=40
    ),
    st.sampled_from([3, 4]),
)
def test_the_cheap_bound_is_below_every_reading(seconds: list[tuple[list[float], bool]], slots: int) -> None:
    """Rows may miss readings and be forgotten: `lowest` is that of the slots, and `least` is not above it."""
    newest, rows = NewestReadings(slots, 3), np.arange(3)
    held: list[dict[int, float]] = [{} for _ in rows]
    counts = [0, 0, 0]
    for second, (values, forgets) in enumerate(seconds):
        newest.add(float(second), numbers(*values))
        for row, value in enumerate(values):
            if not np.isnan(value):
                held[row][counts[row] % slots] = value
                counts[row] += 1
        lowest = newest.lowest(rows)
        np.testing.assert_array_equal(lowest, numbers(*(min(slot.values(), default=np.nan) for slot in held)))
        assert not (newest.least() > lowest).any()
        assert (np.isnan(newest.least()) == np.isnan(lowest)).all()
        if forgets:
            newest.forget(np.array([second % 3]))
            counts[second % 3] = 0


def test_rows_move_with_their_history() -> None:
    """A row keeps its past if the order changes; a new or forgotten row has none."""
    trail = History(((10.0, 4),), 2)
    for second in range(0, 40, 5):
        trail.add(float(second), np.array([1.0, 2.0]))
    trail.rearrange(np.array([1, -1]))
    assert trail.rings[0].last(4).high[:, 0].tolist() == [2.0] * 4
    assert np.isnan(trail.rings[0].last(4).high[:, 1]).all()
    assert np.isnan(trail.newest.last(1, ROWS).high[0, 1])
    trail.forget(np.array([0]))
    assert np.isnan(trail.rings[0].last(4).high).all()
    assert np.isnan(trail.newest.last(1, ROWS).high).all()


def test_memory_is_bounded() -> None:
    """The history of 2,048 hosts with 8 GPUs each takes at most 40 MB."""
    assert History(RINGS, 2048 * 11).bytes < 40e6


def test_a_ladder_notes_when_each_step_was_reached() -> None:
    """Readings between two steps do not count. A row that falls by a step starts again; a moved row keeps its steps."""
    ladder = Ladder(0.125, 4, 2)
    for second, value in enumerate((0.5, 0.5625, 0.625, np.nan, 0.6875, 0.875)):
        ladder.add(100.0 + second, numbers(value, 0.5))
    assert ladder.climbing(105.0).tolist() == [True, False]
    stretch = ladder.steps.last(3, np.array([0]))
    assert stretch.times[:, 0].tolist() == [100.0, 102.0, 105.0]
    assert stretch.high[:, 0].tolist() == [0.5, 0.625, 0.875]
    ladder.rearrange(np.array([1, 0]))
    ladder.add(106.0, numbers(0.5, 0.25))
    assert ladder.steps.count.tolist() == [1, 1]
    assert ladder.steps.back(0, ROWS)[1].tolist() == [0.5, 0.25]
