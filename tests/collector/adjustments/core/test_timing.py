"""The step of an offer, and the time for its answers."""

import math

from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.adjustments.core.timing import StepProgress, first_step, prepare_seconds

SECOND = 10**9


@given(step=st.integers(0, 10**9), step_seconds=st.floats(1e-4, 600.0), age=st.floats(0.0, 60.0))
def test_the_step_is_far_enough_ahead(step: int, step_seconds: float, age: float) -> None:
    """From the step that a rank may have reached, at least six seconds and three steps are left."""
    at = first_step(StepProgress(step, step_seconds, 0), int(age * SECOND))
    assert at is not None
    reached = step + age / step_seconds
    assert (at - reached) * step_seconds >= 6.0 - 1e-3
    assert at - reached >= 3


def test_no_step_is_known_without_the_duration_of_a_step() -> None:
    """A run that has not made a step gets no offer."""
    assert first_step(StepProgress(5, None, 0), SECOND) is None


def test_slow_steps_have_more_time() -> None:
    """Answers may take 30 s, three long steps, and never more than five minutes."""
    assert [prepare_seconds(each) for each in (0.01, 20.0, 1000.0)] == [30.0, 60.0, 300.0]


def test_a_run_that_makes_no_steps_is_not_guessed_far_ahead() -> None:
    """The guess of the reached step ends after two minutes without a report."""
    progress = StepProgress(10, 0.5, 0)
    assert progress.step_at(3600 * SECOND) == 10 + math.ceil(120 / 0.5)
