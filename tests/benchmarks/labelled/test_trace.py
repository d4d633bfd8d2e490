"""A loop's speed is taken from when its steps ended."""

import struct
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.labelled.trace import read_trace, speed


def test_a_steady_loop_has_its_speed() -> None:
    """Ten steps a second are ten, wherever one looks."""
    ends = np.arange(0, 20, 0.1)
    assert speed(ends, 3.03, 7.77) == pytest.approx(10)


def test_slow_steps_count_by_the_part_that_is_done() -> None:
    """A step of two seconds is a quarter done after half a second; pieces of time without an end are not empty."""
    ends = np.arange(0, 40, 2.0)
    assert speed(ends, 4, 10) == pytest.approx(0.5)


def test_a_single_stall_does_not_move_the_median() -> None:
    """One long step among many pieces is an accident, not a speed."""
    ends = np.concatenate([np.arange(0, 5, 0.1), np.arange(5.5, 10, 0.1)])
    assert speed(ends, 1, 9) == pytest.approx(10, rel=0.01)


def test_a_time_before_the_first_step_has_no_speed() -> None:
    """Nor has one after the last."""
    ends = np.arange(5, 10, 0.1)
    assert speed(ends, 2, 4) is None
    assert speed(ends, 12, 14) is None


def test_a_torn_trace_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    """A loop may be killed in the middle of a line."""
    (tmp_path / "t").write_bytes(struct.pack("<dddd", 1.0, 0.5, 2.0, 0.5) + b"torn")
    assert read_trace(tmp_path / "t").tolist() == [1.0, 2.0]
