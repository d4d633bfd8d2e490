"""Answers that several viewers share."""

import pytest

from flyball_collector.http.recent_answers import FRESH_SECONDS, MAX_ANSWERS, MOST_OF_TIME, RecentAnswers


class Maker:
    """Makes numbered answers, each of which takes some time."""

    def __init__(self, seconds: float) -> None:
        self.now = 100.0
        self.made = 0
        self._seconds = seconds
        self.answers: RecentAnswers[int] = RecentAnswers(lambda: self.now)

    def get(self, key: str = "r") -> int:
        """Return the answer for a key."""
        return self.answers.get(key, self._make)

    def _make(self) -> int:
        self.made += 1
        self.now += self._seconds
        return self.made


def test_an_answer_is_shared_for_less_than_a_second() -> None:
    """Equal requests get the same answer, other ones get their own, and a second later there is a new one."""
    maker = Maker(0.001)
    assert [maker.get(), maker.get(), maker.get("other"), maker.get()] == [1, 1, 2, 1]
    maker.now += FRESH_SECONDS
    assert maker.get() == 3


def test_an_expensive_answer_is_kept_for_longer() -> None:
    """However often it is requested, an answer of half a second takes at most a twentieth of the time."""
    maker = Maker(0.5)
    started = maker.now
    while maker.now < started + 100:
        maker.get()
        maker.now += 0.1
    assert maker.made * 0.5 <= MOST_OF_TIME * (maker.now - started) + 0.5


def test_the_number_of_answers_is_limited() -> None:
    """The oldest makes room for a new one."""
    maker = Maker(0.0)
    for number in range(MAX_ANSWERS + 1):
        maker.get(str(number))
    maker.get("1")
    assert maker.made == MAX_ANSWERS + 1
    maker.get("0")
    assert maker.made == MAX_ANSWERS + 2


def test_errors_are_not_kept() -> None:
    """After a failure the next request makes its answer itself."""
    answers: RecentAnswers[int] = RecentAnswers(lambda: 0.0)
    results = iter((None, 5))

    def make() -> int:
        found = next(results)
        if found is None:
            raise LookupError
        return found

    with pytest.raises(LookupError):
        answers.get("r", make)
    assert answers.get("r", make) == 5
