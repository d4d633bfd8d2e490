"""Conditions: when a claim becomes an event, what explains it away, and when it is over."""

from collections.abc import Sequence

import numpy as np

from flyball_collector.diagnosis.book import TELL_AGAIN_SECONDS
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.conditions import FORGET_RESTORED_SECONDS, Conditions, place_of
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import EventKind, Group, Scope, Severity
from flyball_collector.diagnosis.subject import Subject, Subjects, subjects

SECOND = 10**9
START = 1_900_000_000

CAUSE = EventKind("cause", Group.HEALTH, Scope.HOST, Severity.CRITICAL, "It explains.", clear_after_seconds=10)
EFFECT = EventKind(
    "effect",
    Group.BOTTLENECK,
    Scope.GPU,
    Severity.WARNING,
    "It is explained.",
    raise_after_seconds=3,
    clear_after_seconds=5,
    explained_by=("cause",),
)
OF_RUN = EventKind("of_run", Group.RUN, Scope.RUN, Severity.INFO, "A run's.", explained_by=("cause",))
KINDS = (OF_RUN, EFFECT, CAUSE)

HOSTS = subjects([Subject("a"), Subject("b")], [0, 1])
GPUS = subjects([Subject("a", "G0"), Subject("a", "G1"), Subject("b", "G2")], [0, 0, 1])
RUNS = subjects([Subject(run="r")])


def claims(
    kind: EventKind,
    of: Subjects,
    enters: Sequence[bool],
    stays: Sequence[bool] | None = None,
    *,
    known: Sequence[bool] | None = None,
    confidence: float = 0.9,
    severity: Sequence[int] | None = None,
    left: Sequence[float] | None = None,
) -> Claims:
    return Claims(
        kind=kind,
        subjects=of,
        enters=np.array(enters),
        stays=np.array(enters if stays is None else stays),
        known=None if known is None else np.array(known),
        confidence=np.full(len(of), confidence),
        severity=None if severity is None else np.array(severity, dtype=np.int8),
        seconds_left=None if left is None else np.array(left),
        because=lambda place: f"number {place}",
        evidence={"share_ratio": np.full(len(of), 0.5)},
    )


def take(conditions: Conditions, second: float, *said: Claims) -> list[Event]:
    return conditions.take(said, int((START + second) * SECOND))


def told(events: Sequence[Event]) -> list[tuple[str, str, Subject]]:
    return [(event.kind.name, event.state.value, event.subject) for event in events]


def test_a_claim_must_hold_for_its_time_before_it_is_raised() -> None:
    """Three seconds must pass, and a lapse begins them anew."""
    conditions = Conditions(KINDS)
    on, off = claims(EFFECT, GPUS, [True, False, False]), claims(EFFECT, GPUS, [False, False, False])
    assert not take(conditions, 0, on) + take(conditions, 2, on) + take(conditions, 2.5, off)
    assert not take(conditions, 3, on) + take(conditions, 5, on)
    (event,) = take(conditions, 6, on)
    assert told([event]) == [("effect", "raised", GPUS.names[0])]
    assert (event.because, event.confidence, dict(event.evidence)) == ("number 0", 0.9, {"share_ratio": 0.5})
    assert conditions.stands("effect", GPUS.names[0])
    assert not conditions.stands("effect", GPUS.names[1])


def test_a_gpu_has_the_number_that_it_had_when_it_was_told() -> None:
    """After a reboot the next word has the new number, and the end that of the last word; hosts have none."""
    numbers = {"G0": 3}
    conditions = Conditions(KINDS, gpu_index_of=lambda host, gpu: numbers.get(gpu) if host == "a" else None)
    mild, bad = (claims(EFFECT, GPUS, [True, True, False], severity=[level] * 3) for level in (1, 2))
    take(conditions, 0, mild)
    raised = take(conditions, 3, mild)
    numbers["G0"] = 5
    changed = take(conditions, 4, bad)
    take(conditions, 5, claims(EFFECT, GPUS, [False] * 3))
    numbers["G0"] = 6
    cleared = take(conditions, 10, claims(EFFECT, GPUS, [False] * 3))
    assert [[event.gpu_index for event in events] for events in (raised, changed, cleared)] == [
        [3, None],
        [5, None],
        [5, None],
    ]
    assert [event.words() for event in raised] == ["GPU 3 on a", "GPU G1 on a"]
    assert len({event.condition for event in (raised[0], changed[0], cleared[0])}) == 1
    (of_host,) = take(conditions, 11, claims(CAUSE, HOSTS, [True, False]))
    assert of_host.gpu_index is None


def test_between_the_two_levels_nothing_changes() -> None:
    """A condition stays at its exit level, and that level alone never raises one."""
    conditions = Conditions(KINDS)
    between = claims(EFFECT, GPUS, [False] * 3, [True] * 3)
    for second in range(10):
        assert not take(conditions, second, between)
    take(conditions, 10, claims(EFFECT, GPUS, [True, False, False]))
    take(conditions, 13, claims(EFFECT, GPUS, [True, False, False]))
    for second in range(14, 200):
        assert not take(conditions, second, between)
    assert conditions.stands("effect", GPUS.names[0])


def test_it_is_cleared_once_its_exit_level_was_left_for_long_enough() -> None:
    """Five seconds below the exit level end it; a return in between does not."""
    conditions = Conditions(KINDS)
    on, off = claims(EFFECT, GPUS, [False, False, True]), claims(EFFECT, GPUS, [False] * 3)
    take(conditions, 0, on)
    (raised,) = take(conditions, 3, on)
    assert not take(conditions, 4, off) + take(conditions, 8, on) + take(conditions, 9, off) + take(conditions, 13, off)
    (cleared,) = take(conditions, 14, off)
    assert cleared.state is State.CLEARED
    assert cleared.condition == raised.condition
    assert cleared.raised_ns == raised.time_ns
    assert not conditions.active()


def test_unknown_changes_nothing() -> None:
    """While nothing is known a condition neither begins nor ends, however long it lasts."""
    conditions = Conditions(KINDS)
    on, unknown = claims(EFFECT, GPUS, [True] * 3), claims(EFFECT, GPUS, [False] * 3, known=[False] * 3)
    take(conditions, 0, on)
    assert len(take(conditions, 3, on)) == 3
    for second in range(4, 100, 5):
        assert not take(conditions, second, unknown)
    assert len(conditions.active()) == 3


def test_what_explains_comes_first_and_what_it_explains_is_not_raised() -> None:
    """Of a cause and its effect in the same second only the cause is told, on its host alone."""
    conditions = Conditions(KINDS)
    effect = claims(EFFECT, GPUS, [True, False, True])
    take(conditions, 0, effect)
    events = take(conditions, 3, effect, claims(CAUSE, HOSTS, [True, False]))
    assert told(events) == [("cause", "raised", Subject("a")), ("effect", "raised", Subject("b", "G2"))]


def test_what_stands_already_ends_when_its_cause_is_seen() -> None:
    """The effect is cleared in the cause's name, and comes back when the cause is over and it still holds."""
    conditions = Conditions(KINDS)
    effect = claims(EFFECT, GPUS, [True, False, False])
    take(conditions, 0, effect)
    take(conditions, 3, effect)
    events = take(conditions, 4, effect, claims(CAUSE, HOSTS, [True, False]))
    assert told(events) == [("cause", "raised", Subject("a")), ("effect", "cleared", GPUS.names[0])]
    assert events[1].because == "explained by cause"
    take(conditions, 5, effect, claims(CAUSE, HOSTS, [False, False]))
    later = [
        event
        for second in range(6, 30)
        for event in take(conditions, second, effect, claims(CAUSE, HOSTS, [False, False]))
    ]
    assert told(later) == [("cause", "cleared", Subject("a")), ("effect", "raised", GPUS.names[0])]


def test_a_run_is_explained_by_what_stands_on_its_hosts() -> None:
    """A run has no host of its own; those of its ranks count, and others do not."""
    conditions = Conditions(KINDS, hosts_of_run=lambda run: {"r": ["b"]}.get(run, []))
    slow = claims(OF_RUN, RUNS, [True])
    assert told(take(conditions, 0, slow, claims(CAUSE, HOSTS, [True, False])))[1][0] == "of_run"
    events = take(conditions, 1, slow, claims(CAUSE, HOSTS, [True, True]))
    assert told(events) == [("cause", "raised", Subject("b")), ("of_run", "cleared", Subject(run="r"))]


def test_a_change_is_told_once_a_minute_but_worse_is_told_at_once() -> None:
    """Severity that rises is news; the rest waits; a countdown that runs as expected is none."""
    conditions = Conditions(KINDS)
    take(conditions, 0, claims(CAUSE, HOSTS, [True, False], severity=[1, 1], left=[600.0, 0.0]))
    assert not take(conditions, 5, claims(CAUSE, HOSTS, [True, False], severity=[1, 1], left=[10.0, 0.0]))
    (worse,) = take(conditions, 6, claims(CAUSE, HOSTS, [True, False], severity=[2, 1], left=[600.0, 0.0]))
    assert (worse.state, worse.severity) == (State.CHANGED, Severity.CRITICAL)
    expected = claims(CAUSE, HOSTS, [True, False], severity=[2, 1], left=[600.0 - TELL_AGAIN_SECONDS, 0.0])
    assert not take(conditions, 6 + TELL_AGAIN_SECONDS, expected)
    (sooner,) = take(
        conditions, 7 + TELL_AGAIN_SECONDS, claims(CAUSE, HOSTS, [True, False], severity=[2, 1], left=[60.0, 0])
    )
    assert sooner.seconds_left == 60.0


def test_what_wavers_for_hours_is_told_ever_more_seldom() -> None:
    """A time left that jumps at every look makes a handful of changes in three hours, not hundreds."""
    conditions = Conditions(KINDS)
    changes = 0
    for second in range(0, 3 * 3600, 10):
        left = 600.0 if second // 10 % 2 else 9000.0
        said = claims(CAUSE, HOSTS, [True, False], severity=[1, 1], left=[left, 0.0])
        changes += sum(event.state is State.CHANGED for event in take(conditions, second, said))
    assert 3 <= changes <= 15


def test_a_subject_that_is_no_more_takes_its_conditions_along() -> None:
    """A GPU that leaves the fleet is cleared, and its neighbours' state follows them to their new places."""
    conditions = Conditions(KINDS)
    on = claims(EFFECT, GPUS, [True, False, True])
    take(conditions, 0, on)
    take(conditions, 3, on)
    fewer = subjects([Subject("b", "G2")], [0])
    (gone,) = take(conditions, 4, claims(EFFECT, fewer, [True]))
    assert (gone.state, gone.subject, gone.because) == (State.CLEARED, GPUS.names[0], "no longer there")
    assert [active.subject for active in conditions.active()] == [Subject("b", "G2")]
    assert not take(conditions, 5, claims(EFFECT, fewer, [False])) + take(conditions, 9, claims(EFFECT, fewer, [False]))
    assert told(take(conditions, 10, claims(EFFECT, fewer, [False]))) == [("effect", "cleared", Subject("b", "G2"))]


def test_what_stood_before_a_restart_goes_on() -> None:
    """A loaded condition is not raised again while it holds, keeps its name, and is cleared when it is over."""
    before = Conditions(KINDS)
    take(before, 0, claims(CAUSE, HOSTS, [True, True]))
    after = Conditions(KINDS)
    after.load([active.event for active in before.active()], START * SECOND)
    assert not take(after, 1, claims(CAUSE, HOSTS, [True, False]))
    (cleared,) = take(after, 11, claims(CAUSE, HOSTS, [True, False]))
    assert cleared.subject == Subject("b")
    assert cleared.condition in {active.event.condition for active in before.active()}


def test_what_does_not_come_back_after_a_restart_is_over_in_the_end() -> None:
    """A host that is gone for good does not stand for ever."""
    before = Conditions(KINDS)
    take(before, 0, claims(CAUSE, HOSTS, [True, True]))
    after = Conditions(KINDS)
    after.load([active.event for active in before.active()], START * SECOND)
    alone = subjects([Subject("a")], [0])
    assert not take(after, FORGET_RESTORED_SECONDS - 1, claims(CAUSE, alone, [True]))
    (cleared,) = take(after, FORGET_RESTORED_SECONDS + 1, claims(CAUSE, alone, [True]))
    assert (cleared.subject, cleared.because) == (Subject("b"), "not seen again since the restart")


def test_a_kind_that_is_switched_off_is_never_told() -> None:
    """Neither raised nor active, and what it would explain is told."""
    conditions = Conditions(KINDS, disabled=["cause"])
    effect = claims(EFFECT, GPUS, [True, False, False])
    take(conditions, 0, effect, claims(CAUSE, HOSTS, [True, True]))
    assert told(take(conditions, 3, effect, claims(CAUSE, HOSTS, [True, True]))) == [
        ("effect", "raised", GPUS.names[0])
    ]


def test_places_are_told_where_something_else_stands() -> None:
    """Hosts, and runs by a name that is no host's, once after each change; nothing while all stays as it is."""
    conditions = Conditions(KINDS)
    take(conditions, 0, claims(CAUSE, HOSTS, [True, False]), claims(OF_RUN, RUNS, [True]))
    run = place_of(Subject(run="r"))
    assert conditions.touched() == {"a", run}
    assert [active.subject for active in conditions.active_of(run)] == [Subject(run="r")]
    take(conditions, 1, claims(CAUSE, HOSTS, [True, False]))
    assert conditions.touched() == set()
    for second in range(2, 20):
        take(conditions, second, claims(CAUSE, HOSTS, [False, False]))
    assert conditions.touched() == {"a"}


def test_a_kind_has_another_revision_when_something_else_of_it_stands() -> None:
    """Raised, worse or cleared it is another one; other numbers of what stands leave it as it is."""
    conditions = Conditions(KINDS)

    def look(second: float, *said: Claims) -> dict[str, tuple[int, int]]:
        take(conditions, second, *said)
        return {name: (revision, len(active)) for name, revision, active in conditions.active_by_kind()}

    mild = claims(CAUSE, HOSTS, [True, False], severity=[Severity.WARNING] * 2, left=[5000.0, 0.0])
    sooner = claims(CAUSE, HOSTS, [True, False], severity=[Severity.WARNING] * 2, left=[1000.0, 0.0])
    worse = claims(CAUSE, HOSTS, [True, False], severity=[Severity.CRITICAL] * 2, left=[1000.0, 0.0])
    over = claims(CAUSE, HOSTS, [False, False])
    assert look(0, mild)["cause"] == (1, 1)
    assert look(200, sooner)["cause"] == (1, 1)
    assert look(201, worse)["cause"] == (2, 1)
    look(202, over)
    assert look(220, over) == {"cause": (3, 0), "effect": (0, 0), "of_run": (0, 0)}


def test_what_befalls_a_whole_fleet_is_told_in_parts() -> None:
    """Others are served between the parts; together they are what is told at once, and quiet seconds have none."""
    of = subjects([Subject(f"host-{number}") for number in range(300)])
    all_of_it = claims(CAUSE, of, [True] * 300)
    parts = list(Conditions(KINDS).parts([all_of_it], START * SECOND))
    assert [len(part) for part in parts] == [128, 128, 44]
    assert [event for part in parts for event in part] == take(Conditions(KINDS), 0, all_of_it)
    assert not list(Conditions(KINDS).parts([claims(CAUSE, of, [False] * 300)], START * SECOND))
