"""Turning claims into events: raising, changing, clearing, and causes."""

from collections.abc import Sequence

import numpy as np

from flyball_collector.diagnosis.active_conditions import place_of
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.condition_table import REPORT_AGAIN_SECONDS
from flyball_collector.diagnosis.conditions import FORGET_RESTORED_SECONDS, Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind, Group, Scope, Severity
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


def apply(conditions: Conditions, second: float, *claimed: Claims) -> list[Event]:
    return conditions.apply(claimed, int((START + second) * SECOND))


def summary(events: Sequence[Event]) -> list[tuple[str, str, Subject]]:
    return [(event.kind.name, event.state.value, event.subject) for event in events]


def test_a_claim_must_hold_for_its_time_before_it_is_raised() -> None:
    """Three seconds must pass, and they start again after a lapse."""
    conditions = Conditions(KINDS)
    on, off = claims(EFFECT, GPUS, [True, False, False]), claims(EFFECT, GPUS, [False, False, False])
    assert not apply(conditions, 0, on) + apply(conditions, 2, on) + apply(conditions, 2.5, off)
    assert not apply(conditions, 3, on) + apply(conditions, 5, on)
    (event,) = apply(conditions, 6, on)
    assert summary([event]) == [("effect", "raised", GPUS.names[0])]
    assert (event.because, event.confidence, dict(event.evidence)) == ("number 0", 0.9, {"share_ratio": 0.5})
    assert conditions.is_active("effect", GPUS.names[0])
    assert not conditions.is_active("effect", GPUS.names[1])


def test_an_event_has_the_gpu_number_of_its_time() -> None:
    """After a reboot, the next event has the new number; clearing keeps that of the last event; hosts have none."""
    numbers = {"G0": 3}
    conditions = Conditions(KINDS, gpu_index_of=lambda host, gpu: numbers.get(gpu) if host == "a" else None)
    mild, bad = (claims(EFFECT, GPUS, [True, True, False], severity=[level] * 3) for level in (1, 2))
    apply(conditions, 0, mild)
    raised = apply(conditions, 3, mild)
    numbers["G0"] = 5
    changed = apply(conditions, 4, bad)
    apply(conditions, 5, claims(EFFECT, GPUS, [False] * 3))
    numbers["G0"] = 6
    cleared = apply(conditions, 10, claims(EFFECT, GPUS, [False] * 3))
    assert [[event.gpu_index for event in events] for events in (raised, changed, cleared)] == [
        [3, None],
        [5, None],
        [5, None],
    ]
    assert [event.words() for event in raised] == ["GPU 3 on a", "GPU G1 on a"]
    assert len({event.condition for event in (raised[0], changed[0], cleared[0])}) == 1
    (of_host,) = apply(conditions, 11, claims(CAUSE, HOSTS, [True, False]))
    assert of_host.gpu_index is None


def test_nothing_changes_between_entry_and_exit_level() -> None:
    """A condition stays active above its exit level, but that level alone never raises one."""
    conditions = Conditions(KINDS)
    between = claims(EFFECT, GPUS, [False] * 3, [True] * 3)
    for second in range(10):
        assert not apply(conditions, second, between)
    apply(conditions, 10, claims(EFFECT, GPUS, [True, False, False]))
    apply(conditions, 13, claims(EFFECT, GPUS, [True, False, False]))
    for second in range(14, 200):
        assert not apply(conditions, second, between)
    assert conditions.is_active("effect", GPUS.names[0])


def test_a_condition_is_cleared_after_its_time_below_the_exit_level() -> None:
    """Five seconds below the exit level clear it, unless it rises above in between."""
    conditions = Conditions(KINDS)
    on, off = claims(EFFECT, GPUS, [False, False, True]), claims(EFFECT, GPUS, [False] * 3)
    apply(conditions, 0, on)
    (raised,) = apply(conditions, 3, on)
    assert (
        not apply(conditions, 4, off)
        + apply(conditions, 8, on)
        + apply(conditions, 9, off)
        + apply(conditions, 13, off)
    )
    (cleared,) = apply(conditions, 14, off)
    assert cleared.state is State.CLEARED
    assert cleared.condition == raised.condition
    assert cleared.raised_ns == raised.time_ns
    assert not conditions.active()


def test_unknown_values_change_nothing() -> None:
    """While nothing is known, a condition is neither raised nor cleared, however long it takes."""
    conditions = Conditions(KINDS)
    on, unknown = claims(EFFECT, GPUS, [True] * 3), claims(EFFECT, GPUS, [False] * 3, known=[False] * 3)
    apply(conditions, 0, on)
    assert len(apply(conditions, 3, on)) == 3
    for second in range(4, 100, 5):
        assert not apply(conditions, second, unknown)
    assert len(conditions.active()) == 3


def test_a_cause_is_raised_first_and_suppresses_its_effect() -> None:
    """If cause and effect appear in the same second, only the cause is raised, and only its host is affected."""
    conditions = Conditions(KINDS)
    effect = claims(EFFECT, GPUS, [True, False, True])
    apply(conditions, 0, effect)
    events = apply(conditions, 3, effect, claims(CAUSE, HOSTS, [True, False]))
    assert summary(events) == [("cause", "raised", Subject("a")), ("effect", "raised", Subject("b", "G2"))]


def test_an_active_effect_is_cleared_when_its_cause_is_raised() -> None:
    """The event names the cause. The effect is raised again if it still holds after the cause."""
    conditions = Conditions(KINDS)
    effect = claims(EFFECT, GPUS, [True, False, False])
    apply(conditions, 0, effect)
    apply(conditions, 3, effect)
    events = apply(conditions, 4, effect, claims(CAUSE, HOSTS, [True, False]))
    assert summary(events) == [("cause", "raised", Subject("a")), ("effect", "cleared", GPUS.names[0])]
    assert events[1].because == "explained by cause"
    apply(conditions, 5, effect, claims(CAUSE, HOSTS, [False, False]))
    later = [
        event
        for second in range(6, 30)
        for event in apply(conditions, second, effect, claims(CAUSE, HOSTS, [False, False]))
    ]
    assert summary(later) == [("cause", "cleared", Subject("a")), ("effect", "raised", GPUS.names[0])]


def test_a_run_is_explained_by_conditions_on_its_hosts() -> None:
    """A run has no host itself: the hosts of its ranks count, other hosts do not."""
    conditions = Conditions(KINDS, hosts_of_run=lambda run: {"r": ["b"]}.get(run, []))
    slow = claims(OF_RUN, RUNS, [True])
    assert summary(apply(conditions, 0, slow, claims(CAUSE, HOSTS, [True, False])))[1][0] == "of_run"
    events = apply(conditions, 1, slow, claims(CAUSE, HOSTS, [True, True]))
    assert summary(events) == [("cause", "raised", Subject("b")), ("of_run", "cleared", Subject(run="r"))]


def test_changes_are_reported_once_a_minute_but_worse_severity_at_once() -> None:
    """A higher severity is reported at once, other changes later; a countdown as expected is not a change."""
    conditions = Conditions(KINDS)
    apply(conditions, 0, claims(CAUSE, HOSTS, [True, False], severity=[1, 1], left=[600.0, 0.0]))
    assert not apply(conditions, 5, claims(CAUSE, HOSTS, [True, False], severity=[1, 1], left=[10.0, 0.0]))
    (worse,) = apply(conditions, 6, claims(CAUSE, HOSTS, [True, False], severity=[2, 1], left=[600.0, 0.0]))
    assert (worse.state, worse.severity) == (State.CHANGED, Severity.CRITICAL)
    expected = claims(CAUSE, HOSTS, [True, False], severity=[2, 1], left=[600.0 - REPORT_AGAIN_SECONDS, 0.0])
    assert not apply(conditions, 6 + REPORT_AGAIN_SECONDS, expected)
    (sooner,) = apply(
        conditions, 7 + REPORT_AGAIN_SECONDS, claims(CAUSE, HOSTS, [True, False], severity=[2, 1], left=[60.0, 0])
    )
    assert sooner.seconds_left == 60.0


def test_a_flickering_value_is_reported_less_and_less_often() -> None:
    """A forecast that jumps each time makes a handful of changes in three hours, not hundreds."""
    conditions = Conditions(KINDS)
    changes = 0
    for second in range(0, 3 * 3600, 10):
        left = 600.0 if second // 10 % 2 else 9000.0
        claimed = claims(CAUSE, HOSTS, [True, False], severity=[1, 1], left=[left, 0.0])
        changes += sum(event.state is State.CHANGED for event in apply(conditions, second, claimed))
    assert 3 <= changes <= 15


def test_the_conditions_of_a_missing_subject_are_cleared() -> None:
    """If a GPU leaves the fleet, its condition is cleared, and the state of its neighbours moves with them."""
    conditions = Conditions(KINDS)
    on = claims(EFFECT, GPUS, [True, False, True])
    apply(conditions, 0, on)
    apply(conditions, 3, on)
    fewer = subjects([Subject("b", "G2")], [0])
    (gone,) = apply(conditions, 4, claims(EFFECT, fewer, [True]))
    assert (gone.state, gone.subject, gone.because) == (State.CLEARED, GPUS.names[0], "the subject no longer exists")
    assert [active.subject for active in conditions.active()] == [Subject("b", "G2")]
    assert not apply(conditions, 5, claims(EFFECT, fewer, [False])) + apply(
        conditions, 9, claims(EFFECT, fewer, [False])
    )
    assert summary(apply(conditions, 10, claims(EFFECT, fewer, [False]))) == [("effect", "cleared", Subject("b", "G2"))]


def test_conditions_continue_after_a_restart() -> None:
    """A restored condition is not raised again, keeps its id, and is cleared when it is over."""
    before = Conditions(KINDS)
    apply(before, 0, claims(CAUSE, HOSTS, [True, True]))
    after = Conditions(KINDS)
    after.load([active.event for active in before.active()], START * SECOND)
    assert not apply(after, 1, claims(CAUSE, HOSTS, [True, False]))
    (cleared,) = apply(after, 11, claims(CAUSE, HOSTS, [True, False]))
    assert cleared.subject == Subject("b")
    assert cleared.condition in {active.event.condition for active in before.active()}


def test_a_restored_condition_of_a_missing_subject_is_cleared_in_the_end() -> None:
    """A condition does not stay active forever if its host never returns."""
    before = Conditions(KINDS)
    apply(before, 0, claims(CAUSE, HOSTS, [True, True]))
    after = Conditions(KINDS)
    after.load([active.event for active in before.active()], START * SECOND)
    alone = subjects([Subject("a")], [0])
    assert not apply(after, FORGET_RESTORED_SECONDS - 1, claims(CAUSE, alone, [True]))
    (cleared,) = apply(after, FORGET_RESTORED_SECONDS + 1, claims(CAUSE, alone, [True]))
    assert (cleared.subject, cleared.because) == (Subject("b"), "not seen again since the restart")


def test_a_disabled_kind_is_never_raised() -> None:
    """It is not raised and explains nothing, so its effect is raised."""
    conditions = Conditions(KINDS, disabled=["cause"])
    effect = claims(EFFECT, GPUS, [True, False, False])
    apply(conditions, 0, effect, claims(CAUSE, HOSTS, [True, True]))
    assert summary(apply(conditions, 3, effect, claims(CAUSE, HOSTS, [True, True]))) == [
        ("effect", "raised", GPUS.names[0])
    ]


def test_places_with_changes_are_returned_once() -> None:
    """These are hosts, and runs under a key that no host can have. Without changes, there are none."""
    conditions = Conditions(KINDS)
    apply(conditions, 0, claims(CAUSE, HOSTS, [True, False]), claims(OF_RUN, RUNS, [True]))
    run = place_of(Subject(run="r"))
    assert conditions.pop_changed_places() == {"a", run}
    assert [active.subject for active in conditions.active_of(run)] == [Subject(run="r")]
    apply(conditions, 1, claims(CAUSE, HOSTS, [True, False]))
    assert conditions.pop_changed_places() == set()
    for second in range(2, 20):
        apply(conditions, second, claims(CAUSE, HOSTS, [False, False]))
    assert conditions.pop_changed_places() == {"a"}


def test_the_revision_of_a_kind_grows_when_its_active_conditions_change() -> None:
    """It grows if one is raised, cleared or changes its severity, but not with other values."""
    conditions = Conditions(KINDS)

    def update(second: float, *claimed: Claims) -> dict[str, tuple[int, int]]:
        apply(conditions, second, *claimed)
        return {name: (revision, len(active)) for name, revision, active in conditions.active_by_kind()}

    mild = claims(CAUSE, HOSTS, [True, False], severity=[Severity.WARNING] * 2, left=[5000.0, 0.0])
    sooner = claims(CAUSE, HOSTS, [True, False], severity=[Severity.WARNING] * 2, left=[1000.0, 0.0])
    worse = claims(CAUSE, HOSTS, [True, False], severity=[Severity.CRITICAL] * 2, left=[1000.0, 0.0])
    over = claims(CAUSE, HOSTS, [False, False])
    assert update(0, mild)["cause"] == (1, 1)
    assert update(200, sooner)["cause"] == (1, 1)
    assert update(201, worse)["cause"] == (2, 1)
    update(202, over)
    assert update(220, over) == {"cause": (3, 0), "effect": (0, 0), "of_run": (0, 0)}


def test_the_events_of_a_whole_fleet_come_in_batches() -> None:
    """Together, the batches are the events of a single call. Without events there is no batch."""
    of = subjects([Subject(f"host-{number}") for number in range(300)])
    all_of_it = claims(CAUSE, of, [True] * 300)
    batches = list(Conditions(KINDS).batches([all_of_it], START * SECOND))
    assert [len(batch) for batch in batches] == [128, 128, 44]
    assert [event for batch in batches for event in batch] == apply(Conditions(KINDS), 0, all_of_it)
    assert not list(Conditions(KINDS).batches([claims(CAUSE, of, [False] * 300)], START * SECOND))


def test_severity_does_not_fall_when_a_forecast_comes_true() -> None:
    """A critical forecast whose event is only a warning by itself stays critical until it is cleared."""
    conditions = Conditions(KINDS)
    apply(conditions, 0, claims(CAUSE, HOSTS, [True, False], severity=[2, 2], left=[50.0, 0.0]))
    here = claims(CAUSE, HOSTS, [True, False], severity=[1, 1], left=[0.0, 0.0])
    events = [event for second in range(50, 1000, 10) for event in apply(conditions, second, here)]
    assert {event.severity for event in events} == {Severity.CRITICAL}
    over = claims(CAUSE, HOSTS, [False, False])
    apply(conditions, 1000, over)
    (cleared,) = apply(conditions, 1010, over)
    assert cleared.state is State.CLEARED
    (again,) = apply(conditions, 1020, here)
    assert again.severity is Severity.WARNING


def test_what_was_predicted_has_at_least_the_severity_of_its_prediction() -> None:
    """Pressure under a critical forecast of the host's memory is critical; under that of a GPU's it is a warning."""
    exhaustion, pressure = BY_NAME["memory_exhaustion"], BY_NAME["memory_pressure"]
    memories = subjects([Subject("a", resource="memory"), Subject("b", gpu="G2")], [0, 1])
    conditions = Conditions()
    forecast = claims(exhaustion, memories, [True, True], severity=[2, 2], left=[50.0, 50.0])
    apply(conditions, 0, forecast, claims(pressure, HOSTS, [True, True]))
    events = apply(conditions, 10, forecast, claims(pressure, HOSTS, [True, True]))
    assert {event.subject.host: event.severity for event in events} == {"a": Severity.CRITICAL, "b": Severity.WARNING}
