"""How often the advisor looks: where something changed, and else once a minute."""

from collections.abc import Callable
from dataclasses import replace

from flyball_collector.advice.advice import Effort, Safety
from flyball_collector.advice.advisor import Advisor
from flyball_collector.advice.rule import Draft, Rule
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.testing.hosts import Stage

HOSTS = tuple(f"host-{number:03}" for number in range(200))


def event(host: str, kind: str = "bottleneck_numa", because: str = "words") -> Event:
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


class Watched:
    """A fleet of which every host has a condition, and an advisor whose one rule counts how often it is asked."""

    def __init__(self, find: Callable[[Situation], None] = lambda _: None) -> None:
        self.on, self.conditions, self.asked = Stage(), Conditions(), list[str]()
        self._find = find
        rule = Rule(
            name="count",
            about="Counts.",
            kinds=("bottleneck_numa",),
            effort=Effort.SETTING,
            safety=Safety.ADVISE,
            source="a test",
            find=self._count,
        )
        self.advisor = Advisor(AdviceSettings(), rules=[rule])
        for host in HOSTS:
            self.on.host(host)
        self.on.step(2)
        self.stand(*(event(host) for host in HOSTS))

    def stand(self, *events: Event) -> None:
        self.conditions.load(events, int(self.on.now * 1e9))

    def step(self, seconds: int) -> list[str]:
        """Whom the rule was asked about meanwhile."""
        self.asked.clear()
        for _ in range(seconds):
            self.on.step()
            for _ in self.advisor.slices(self.on.view, self.conditions):
                pass
        return list(self.asked)

    def _count(self, situation: Situation, _: AdviceSettings) -> Draft:
        self.asked.append(situation.subject.host)
        self._find(situation)
        return Draft(because=situation.events("bottleneck_numa")[0].because, change="nothing")


def test_an_unchanged_fleet_costs_no_situations_within_the_minute() -> None:
    """Each host is looked at once within ten seconds; then none until a minute after, and then each once again."""
    fleet = Watched()
    assert sorted(fleet.step(10)) == list(HOSTS)
    assert len(fleet.advisor.given) == len(HOSTS)
    given = fleet.advisor.given
    assert fleet.step(50) == []
    assert sorted(fleet.step(20)) == list(HOSTS)
    assert fleet.advisor.given is given


def test_a_change_is_considered_within_ten_seconds() -> None:
    """Of that host alone; what concerns no rule is no change."""
    fleet = Watched()
    fleet.step(10)
    fleet.stand(replace(event(HOSTS[7]), confidence=0.3))
    fleet.stand(event(HOSTS[8], "clock_skew"))
    assert fleet.step(10) == [HOSTS[7]]
    assert {one.confidence for one in fleet.advisor.given if one.subject == Subject(HOSTS[7])} == {0.3}


def test_advice_ends_with_its_condition() -> None:
    """No look is needed for that, and it ends for this host only."""
    fleet = Watched()
    fleet.step(10)
    cleared = fleet.conditions.take([], int((fleet.on.now + 2000) * 1e9))  # nobody has seen them again
    assert len(cleared) == len(HOSTS)
    fleet.stand(*(event(host) for host in HOSTS[1:]))
    assert fleet.step(1) == []
    assert {one.subject.host for one in fleet.advisor.given} == set(HOSTS[1:])
    assert fleet.step(70).count(HOSTS[0]) == 0


def test_one_slice_looks_at_some_hosts_only() -> None:
    """Between two slices the collector serves others."""
    fleet = Watched()
    fleet.on.step()
    most = before = 0
    for _ in fleet.advisor.slices(fleet.on.view, fleet.conditions):
        most, before = max(most, len(fleet.asked) - before), len(fleet.asked)
    assert 0 < most <= 64


def test_a_rule_that_fails_holds_nobody_up() -> None:
    """The others are looked at in the next second, and what failed has its next look in a minute."""

    def fail(situation: Situation) -> None:
        if situation.subject.host == HOSTS[0]:
            raise RuntimeError("on purpose")

    fleet, failures = Watched(fail), 0
    for _ in range(10):
        try:
            fleet.step(1)
        except RuntimeError:
            failures += 1
    assert failures == 1
    assert {one.subject.host for one in fleet.advisor.given} == set(HOSTS[1:])


def test_what_advice_costs_is_told_and_nothing_where_it_rests() -> None:
    """CPU of all slices of the second; nothing while nothing may be raised."""
    on = Stage()
    for host in HOSTS:
        on.host(host)
    on.step(2)
    on.diagnosis.conditions.load([event(host) for host in HOSTS], int(on.now * 1e9))
    on.step()
    looked = on.diagnosis.seconds["advice"]
    on.step(12)
    assert 0 < on.diagnosis.seconds["advice"] < looked
    on.start_up.windows_warm = False
    on.step()
    assert on.diagnosis.seconds["advice"] == 0.0
