"""What is remembered of one kind of condition: a book that rests remembers what one that never rests would."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.book import Book
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import EventKind, Group, Scope, Severity
from flyball_collector.diagnosis.subject import Subject, subjects

KIND = EventKind(
    "slow", Group.HEALTH, Scope.HOST, Severity.WARNING, "It is slow.", raise_after_seconds=2, clear_after_seconds=3
)
NAMES = [Subject(name) for name in "abc"]
ORDERS = [subjects(NAMES), subjects(NAMES[:2]), subjects(NAMES[::-1]), subjects(NAMES[1:])]
ARRAYS = ("raised", "entering", "leaving", "quiet", "since", "told", "severity", "confidence", "left")


class Restless(Book):
    """One that looks through everything each time."""

    @property
    def rests(self) -> bool:
        """Never."""
        return False


@dataclass(frozen=True)
class Second:
    """What is claimed of three hosts at one look, and what becomes of it."""

    order: int
    enters: list[bool]
    stays: list[bool]
    known: list[bool] | None
    severity: list[int]
    left: list[float]
    later: float  # than the look before
    hides: bool  # what is ripe is explained by something else
    resumes: bool  # one that stood before a restart is seen


FLAGS = st.lists(st.booleans(), min_size=3, max_size=3)
SECONDS = st.builds(
    Second,
    order=st.sampled_from([0, 0, 0, 1, 2, 3]),
    enters=st.just([False] * 3) | FLAGS,
    stays=st.just([False] * 3) | FLAGS,
    known=st.none() | FLAGS,
    severity=st.lists(st.sampled_from([1, 2]), min_size=3, max_size=3),
    left=st.lists(st.sampled_from([float("nan"), 10.0, 900.0]), min_size=3, max_size=3),
    later=st.sampled_from([0.5, 1.0, 3.0, 90.0]),
    hides=st.booleans(),
    resumes=st.sampled_from([False, False, False, True]),
)


def claims(said: Second) -> Claims:
    of = ORDERS[said.order]
    count = len(of)
    return Claims(
        kind=KIND,
        subjects=of,
        enters=np.array(said.enters[:count]),
        stays=np.array(said.stays[:count]),
        known=None if said.known is None else np.array(said.known[:count]),
        confidence=np.full(count, 0.9),
        severity=np.array(said.severity[:count], dtype=np.int8),
        seconds_left=np.array(said.left[:count]),
    )


def look(book: Book, said: Second, now: float) -> list[list[int]]:
    """One look as the conditions go through it: what is ripe, over and changed."""
    claimed = claims(said)
    book.align(claimed.subjects)
    if said.resumes:
        book.resume(0, restored(claimed.subjects.names[0]))
    ripe, over = book.judge(claimed, now)
    for place in ripe:
        if said.hides:
            book.quiet(int(place), now + 5)
        else:
            book.tell(claimed, int(place), now)
    for place in over:
        book.forget(int(place))
    changed = book.changed(claimed, now)
    for place in changed:
        book.tell(claimed, int(place), now)
    return [places.tolist() for places in (ripe, over, changed)]


def restored(subject: Subject) -> Event:
    return Event(
        condition="x", time_ns=20, state=State.RAISED, kind=KIND, subject=subject, severity=KIND.severity,
        confidence=0.5, raised_ns=10,
    )  # fmt: skip


@given(st.lists(SECONDS, max_size=30))
def test_resting_changes_nothing(seconds: list[Second]) -> None:
    """Whatever is claimed, known, hidden, restored, and of whomever: the same is told, and the same remembered."""
    book, restless = Book(), Restless()
    now = 1000.0
    for said in seconds:
        now += said.later
        assert look(book, said, now) == look(restless, said, now)
        for name in ARRAYS:
            np.testing.assert_array_equal(book[name], restless[name], name)


def test_a_book_rests_while_nothing_enters_or_stands() -> None:
    """From the beginning, and again once what stood is over and what entered has lapsed."""
    quiet = Second(0, [False] * 3, [False] * 3, None, [1] * 3, [float("nan")] * 3, 1.0, hides=False, resumes=False)
    entered = Second(0, [True] * 3, [True] * 3, None, [1] * 3, [float("nan")] * 3, 1.0, hides=False, resumes=False)
    book, rests = Book(), []
    for now, said in enumerate([quiet, entered, entered, entered, quiet, quiet, quiet, quiet, quiet]):
        look(book, said, float(now))
        rests.append(book.rests)
    assert rests == [True, False, False, False, False, False, False, False, True]
