"""The advisor's schedule of evaluations: after changes, otherwise once a minute."""

from collections.abc import Callable
from dataclasses import replace

from flyball_collector.advice.advice import Effort, Safety
from flyball_collector.advice.advisor import Advisor
from flyball_collector.advice.rule import AdviceDraft, Rule
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.testing.hosts import SimulatedFleet

HOSTS = tuple(f"host-{number:03}" for number in range(200))


def event(host: str, kind: str = "bottleneck_numa", because: str = "text") -> Event:
    return Event(
        condition=f"{kind} {host}",
        time_ns=1,
        state=State.RAISED,
        kind=BY_NAME[kind],
        subject=Subject(host),
        severity=BY_NAME[kind].severity,
        confidence=0.8,
        because=because,
    )


class ActiveFleet:
    """A fleet with a condition on every host, and an advisor whose only rule counts its evaluations."""

    def __init__(self, find: Callable[[Situation], None] = lambda _: None) -> None:
        self.fleet, self.conditions, self.evaluated = SimulatedFleet(), Conditions(), list[str]()
        self._find = find
        rule = Rule(
            name="count",
            description="Counts.",
            kinds=("bottleneck_numa",),
            effort=Effort.SETTING,
            safety=Safety.ADVISE,
            source="a test",
            find=self._count,
        )
        self.advisor = Advisor(AdviceSettings(), rules=[rule])
        for host in HOSTS:
            self.fleet.host(host)
        self.fleet.step(2)
        self.load(*(event(host) for host in HOSTS))

    def load(self, *events: Event) -> None:
        self.conditions.load(events, int(self.fleet.now * 1e9))

    def step(self, seconds: int) -> list[str]:
        """Let seconds pass; return the hosts for which the rule was evaluated."""
        self.evaluated.clear()
        for _ in range(seconds):
            self.fleet.step()
            for _ in self.advisor.slices(self.fleet.view, self.conditions):
                pass
        return list(self.evaluated)

    def _count(self, situation: Situation, _: AdviceSettings) -> AdviceDraft:
        self.evaluated.append(situation.subject.host)
        self._find(situation)
        return AdviceDraft(because=situation.events("bottleneck_numa")[0].because, change="nothing")


def test_an_unchanged_fleet_is_evaluated_once_a_minute() -> None:
    """Each host is evaluated once within ten seconds, then not for a minute, then once again."""
    fleet = ActiveFleet()
    assert sorted(fleet.step(10)) == list(HOSTS)
    assert len(fleet.advisor.current) == len(HOSTS)
    given = fleet.advisor.current
    assert fleet.step(50) == []
    assert sorted(fleet.step(20)) == list(HOSTS)
    assert fleet.advisor.current is given


def test_a_change_is_evaluated_within_ten_seconds() -> None:
    """Only that host is evaluated; a kind without a rule does not count."""
    fleet = ActiveFleet()
    fleet.step(10)
    fleet.load(replace(event(HOSTS[7]), confidence=0.3))
    fleet.load(event(HOSTS[8], "clock_skew"))
    assert fleet.step(10) == [HOSTS[7]]
    assert {one.confidence for one in fleet.advisor.current if one.subject == Subject(HOSTS[7])} == {0.3}


def test_advice_ends_with_its_condition() -> None:
    """This needs no evaluation, and it ends for this host only."""
    fleet = ActiveFleet()
    fleet.step(10)
    cleared = fleet.conditions.apply([], int((fleet.fleet.now + 2000) * 1e9))  # they were not seen again
    assert len(cleared) == len(HOSTS)
    fleet.load(*(event(host) for host in HOSTS[1:]))
    assert fleet.step(1) == []
    assert {one.subject.host for one in fleet.advisor.current} == set(HOSTS[1:])
    assert fleet.step(70).count(HOSTS[0]) == 0


def test_one_slice_evaluates_only_some_hosts() -> None:
    """The event loop can run between two slices."""
    fleet = ActiveFleet()
    fleet.fleet.step()
    most = before = 0
    for _ in fleet.advisor.slices(fleet.fleet.view, fleet.conditions):
        most, before = max(most, len(fleet.evaluated) - before), len(fleet.evaluated)
    assert 0 < most <= 64


def test_a_rule_that_fails_does_not_block_others() -> None:
    """The others are evaluated in the next second, and the failed place in a minute."""

    def fail(situation: Situation) -> None:
        if situation.subject.host == HOSTS[0]:
            raise RuntimeError("on purpose")

    fleet, failures = ActiveFleet(fail), 0
    for _ in range(10):
        try:
            fleet.step(1)
        except RuntimeError:
            failures += 1
    assert failures == 1
    assert {one.subject.host for one in fleet.advisor.current} == set(HOSTS[1:])


def test_the_cpu_time_of_advice_is_measured() -> None:
    """It is the time of all slices of the second; zero while nothing may be raised."""
    fleet = SimulatedFleet()
    for host in HOSTS:
        fleet.host(host)
    fleet.step(2)
    fleet.diagnosis.conditions.load([event(host) for host in HOSTS], int(fleet.now * 1e9))
    fleet.step()
    spent = fleet.diagnosis.seconds["advice"]
    fleet.step(12)
    assert 0 < fleet.diagnosis.seconds["advice"] < spent
    fleet.start_up.windows_warm = False
    fleet.step()
    assert fleet.diagnosis.seconds["advice"] == 0.0
