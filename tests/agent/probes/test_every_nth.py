"""What is asked seldom."""

import pytest

from flyball_agent.probes.every_nth import EveryNth


def test_asks_each_nth_time() -> None:
    """The first answer is fresh, then each third; in between it is repeated."""
    answers = iter(range(10))
    seldom = EveryNth(lambda: next(answers), 3)
    assert [seldom.value() for _ in range(7)] == [0, 0, 0, 1, 1, 1, 2]


def test_asks_again_after_a_failure() -> None:
    """An error is not repeated like an answer."""
    said: list[int | OSError] = [1, OSError("gone"), 2]
    answers = iter(said)

    def ask() -> int:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    seldom = EveryNth(ask, 2)
    assert [seldom.value(), seldom.value()] == [1, 1]
    with pytest.raises(OSError, match="gone"):
        seldom.value()
    assert seldom.value() == 2
