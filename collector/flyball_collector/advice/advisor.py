"""Keeps the advice up to date: evaluates places where conditions changed, and all places once a minute."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.advice.advice import Advice
from flyball_collector.advice.advice_list import AdviceList
from flyball_collector.advice.checkpoint_watch import CheckpointWatch
from flyball_collector.advice.evaluation_schedule import EvaluationSchedule
from flyball_collector.advice.fleet_facts import FleetFacts
from flyball_collector.advice.idle_waits import IdleWaits
from flyball_collector.advice.rank_facts import Membership
from flyball_collector.advice.ranking import without_superseded
from flyball_collector.advice.rule import Rule
from flyball_collector.advice.rules.catalogue import RULES
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.active_conditions import ActiveCondition, place_of
from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.kinds import KINDS
from flyball_collector.diagnosis.view import View

MEASURE_SECONDS = 10.0
"""How often values are measured that are averaged over several measurements."""

EVALUATE_SECONDS = 2.0
"""Places that are due are evaluated together, because half of the cost is the same for one host as for a hundred."""

_OPENED_SECONDS = 60.0
_PLACES_PER_SLICE = 32  # takes a few milliseconds

_UNTRUSTED = ("host_lost", "data_gap")
"""While one of these is active, nothing is known about a host. Then no advice with a gain is given."""

_ORDER = {kind.name: number for number, kind in enumerate(KINDS)}

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Advisor:
    """Runs in the loop of the diagnosis. `current` can be read between two slices."""

    def __init__(
        self, settings: AdviceSettings, *, disabled: Iterable[str] = (), rules: Sequence[Rule] = RULES
    ) -> None:
        off = frozenset(disabled)
        self._settings = settings
        self._by_name = {rule.name: rule for rule in rules if rule.name not in off}
        self._by_kind: dict[str, list[Rule]] = {}
        for rule in self._by_name.values():
            for kind in rule.kinds:
                self._by_kind.setdefault(kind, []).append(rule)
        self._wanted = frozenset({*self._by_kind, *_UNTRUSTED})
        self._active: dict[str, tuple[Event, ...]] = {}  # by place; only kinds that rules need
        self._schedule = EvaluationSchedule()
        self._list = AdviceList()
        self._checkpoints = CheckpointWatch()
        self._waits = IdleWaits()
        self._opened = Growth(_OPENED_SECONDS, 6)
        self._opened_of: object = None  # the hosts along which it is
        self._members = Membership()
        self._measured = self._evaluated = float("-inf")

    @property
    def current(self) -> tuple[Advice, ...]:
        """The current advice, most urgent first. It stays the same object until the advice changes."""
        return self._list.current

    def slices(self, view: View, conditions: Conditions) -> Iterator[None]:
        """Evaluate what is due, in slices between which an event loop can run. Call it each second."""
        self._checkpoints.update(view)
        self._take_changes(conditions, view.now)
        if not self._measured <= view.now < self._measured + MEASURE_SECONDS:
            self._measured = view.now
            yield
            self._membership(view)
            yield
            yield from self._measure(view)
        if not self._evaluated <= view.now < self._evaluated + EVALUATE_SECONDS:
            yield from self._evaluate_due(view)
        self._list.sort()

    def consider(self, view: View, active: Iterable[ActiveCondition]) -> tuple[Advice, ...]:
        """Return the advice for these active conditions, without slices."""
        by_place: dict[str, list[Event]] = {}
        for item in active:
            by_place.setdefault(place_of(item.subject), []).append(item.event)
        for place in self._active.keys() | by_place.keys():
            self._set_active(place, by_place.get(place, ()))
        for _ in self._measure(view):
            pass
        self._evaluate(self._facts(view), tuple(self._active), view.now)
        self._list.sort()
        return self.current

    def facts(self, view: View) -> FleetFacts:
        """Return the facts of the newest view, with what the advisor has measured over time. It changes nothing."""
        opened = self._opened.total() if self._opened_of is view.hosts else np.full(len(view.hosts), np.nan)
        waits, habits = self._waits.shares(view), self._checkpoints.habits()
        return FleetFacts(view, waits, opened / _OPENED_SECONDS, habits, self._membership(view))

    def newest_checkpoints(self) -> Mapping[str, float]:
        """Return when the last checkpoint of each run was reported, in Unix time."""
        return self._checkpoints.newest()

    def _take_changes(self, conditions: Conditions, now: float) -> None:
        """Take the conditions that were raised, changed or cleared."""
        other = [
            place
            for place in sorted(conditions.pop_changed_places())
            if self._set_active(place, (item.event for item in conditions.active_of(place)))
        ]
        self._schedule.changed(other, now)

    def _set_active(self, place: str, events: Iterable[Event]) -> bool:
        """Set the active conditions of a place. Return True if it has to be evaluated."""
        wanted = tuple(sorted((e for e in events if e.kind.name in self._wanted), key=lambda e: _ORDER[e.kind.name]))
        before = self._active.get(place, ())
        if wanted:
            self._active[place] = wanted
        else:
            self._active.pop(place, None)
            self._schedule.forget([place])
            self._list.put(place, ())
        return bool(wanted) and wanted != before

    def _measure(self, view: View) -> Iterator[None]:
        """Measure the values that are averaged over several measurements, for all hosts."""
        matters: Flags = np.zeros(len(view.hosts), dtype=bool)
        matters[[at for subject, at in view.hosts.places.items() if subject.host in self._active]] = True
        yield from self._waits.update(view, lambda: self._membership(view), matters)
        self._count_opened(view)

    def _count_opened(self, view: View) -> Floats:
        """Return the connections opened a second, along hosts."""
        self._opened_of = view.hosts
        return self._opened.add(view.hosts, view.host_count("tcp_opened_total"), view.now) / _OPENED_SECONDS

    def _facts(self, view: View) -> FleetFacts:
        waits, opened = self._waits.shares(view), self._count_opened(view)
        return FleetFacts(view, waits, opened, self._checkpoints.habits(), self._membership(view))

    def _evaluate_due(self, view: View) -> Iterator[None]:
        """Evaluate all places that are due."""
        due = self._schedule.due(view.now)
        if due:
            self._evaluated = view.now
            yield
            facts = self._facts(view)
            yield from facts.prepare()
            for first in range(0, len(due), _PLACES_PER_SLICE):
                self._evaluate(facts, due[first : first + _PLACES_PER_SLICE], view.now)
                yield

    def _membership(self, view: View) -> Membership:
        if self._members.keys is not view.ranks.keys:
            self._members = Membership(view.ranks.keys)
        return self._members

    def _evaluate(self, facts: FleetFacts, places: Sequence[str], now: float) -> None:
        """Apply the rules to some places. A place at which a rule fails counts as evaluated; later ones stay due."""
        active = {place: self._active[place] for place in places if place in self._active}
        situations = facts.situations(event for events in active.values() for event in events)
        for place in active:
            self._schedule.evaluated(place, now)
            self._list.put(place, without_superseded(self._advice(next(situations)), self._by_name))

    def _advice(self, situation: Situation) -> Iterator[Advice]:
        matching: Mapping[str, Rule] = {
            rule.name: rule for kind in situation.active for rule in self._by_kind.get(kind, ())
        }
        blind = situation.has(*_UNTRUSTED)
        for rule in matching.values():
            advice = rule.advise(situation, self._settings)
            if advice is not None and not (blind and advice.gain is not None):
                yield advice
