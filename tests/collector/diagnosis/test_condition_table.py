"""The state of one kind of condition: a table that skips what is idle has the same state as one that does not."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.condition_table import ConditionTable, Places
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import EventKind, Group, Scope, Severity
from flyball_collector.diagnosis.subject import Subject, subjects

KIND = EventKind(
    "slow", Group.HEALTH, Scope.HOST, Severity.WARNING, "It is slow.", raise_after_seconds=2, clear_after_seconds=3
)
NAMES = [Subject(name) for name in "abc"]
IDLE = [Subject(f"idle-{number}") for number in range(12)]  # so that those of the names are few
ORDERS = [subjects([*names, *IDLE]) for names in (NAMES, NAMES[:2], NAMES[::-1], NAMES[1:])]
ARRAYS = (
    "raised", "entering", "leaving", "suppressed", "absent", "kept_until", "floor", "since", "reported", "severity",
    "confidence", "seconds_left",
)  # fmt: skip


class NeverIdle(ConditionTable):
    """A table that evaluates everything each time."""

    @property
    def is_idle(self) -> bool:
        """Return False."""
        return False

    def _places(self, flags: NDArray[np.bool_]) -> Places | slice:
        del flags
        return slice(None)


@dataclass(frozen=True)
class Second:
    """The claims about three hosts in one second, and how the conditions treat them. Others have none."""

    order: int
    enters: list[bool]
    stays: list[bool]
    known: list[bool] | None
    severity: list[int]
    left: list[float]
    later: float  # seconds since the second before
    hides: bool  # conditions that are due have an active cause
    resumes: bool  # a condition from before a restart is seen again
    keeps: bool  # conditions that are over stay raised for a while


FLAGS = st.lists(st.booleans(), min_size=3, max_size=3)
SECONDS = st.builds(
    Second,
    order=st.sampled_from([0, 0, 0, 1, 2, 3]),
    enters=st.just([False] * 3) | FLAGS,
    stays=st.just([False] * 3) | FLAGS,
    known=st.none() | FLAGS,
    severity=st.lists(st.sampled_from([1, 2]), min_size=3, max_size=3),
    left=st.lists(st.sampled_from([float("nan"), 0.0, 10.0, 900.0]), min_size=3, max_size=3),
    later=st.sampled_from([0.5, 1.0, 3.0, 90.0]),
    hides=st.booleans(),
    resumes=st.sampled_from([False, False, False, True]),
    keeps=st.booleans(),
)


def claims(second: Second) -> Claims:
    of = ORDERS[second.order]
    count, idle = len(of) - len(IDLE), len(IDLE)
    return Claims(
        kind=KIND,
        subjects=of,
        enters=np.array(second.enters[:count] + [False] * idle),
        stays=np.array(second.stays[:count] + [False] * idle),
        known=None if second.known is None else np.array(second.known[:count] + [True] * idle),
        confidence=np.full(count + idle, 0.9),
        severity=np.array(second.severity[:count] + [1] * idle, dtype=np.int8),
        seconds_left=np.array(second.left[:count] + [float("nan")] * idle),
    )


def update(table: ConditionTable, second: Second, now: float) -> list[list[int]]:
    """Apply one second to a table as `Conditions` does; return the positions that are due, over and changed."""
    claimed = claims(second)
    table.align(claimed.subjects)
    if second.resumes:
        table.resume(0, restored(claimed.subjects.names[0]))
    due, over, back = table.judge(claimed, now)
    for place in due:
        if second.hides:
            table.suppress(int(place), now + 5)
        else:
            table.mark_reported(claimed, int(place), now)
    for place in back:
        table.return_to(int(place))
    for place in over:
        if second.keeps:
            table.keep(int(place), now + 100)
        else:
            table.forget(int(place))
    changed = table.changed(claimed, now)
    for place in changed:
        table.mark_reported(claimed, int(place), now)
    return [places.tolist() for places in (due, over, back, changed)]


def restored(subject: Subject) -> Event:
    return Event(
        condition="x", time_ns=20, state=State.RAISED, kind=KIND, subject=subject, severity=KIND.severity,
        confidence=0.5, raised_ns=10,
    )  # fmt: skip


@given(st.lists(SECONDS, max_size=30))
def test_idle_tables_behave_the_same(seconds: list[Second]) -> None:
    """Whatever is claimed, known, suppressed or restored: the same is reported, and the same state is kept."""
    table, never_idle = ConditionTable(), NeverIdle()
    now = 1000.0
    for second in seconds:
        now += second.later
        assert update(table, second, now) == update(never_idle, second, now)
        for name in ARRAYS:
            np.testing.assert_array_equal(table[name], never_idle[name], name)


def test_a_table_is_idle_while_nothing_enters_or_is_raised() -> None:
    """It is idle at the start, and again after a condition is over and the entry level has lapsed."""
    unknown = [float("nan")] * 3
    quiet, entered = (
        Second(0, [on] * 3, [on] * 3, None, [1] * 3, unknown, 1.0, hides=False, resumes=False, keeps=False)
        for on in (False, True)
    )
    table, idle = ConditionTable(), []
    for now, second in enumerate([quiet, entered, entered, entered, quiet, quiet, quiet, quiet, quiet]):
        update(table, second, float(now))
        idle.append(table.is_idle)
    assert idle == [True, False, False, False, False, False, False, False, True]
