"""The advisor: looks at what stands where it has changed, and at all of it once a minute, and says what to change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.advice.advice import Advice
from flyball_collector.advice.agenda import Agenda
from flyball_collector.advice.board import Board
from flyball_collector.advice.checkpoint_watch import CheckpointWatch
from flyball_collector.advice.idle_waits import IdleWaits
from flyball_collector.advice.rank_facts import Membership
from flyball_collector.advice.ranking import leaves_only
from flyball_collector.advice.rule import Rule
from flyball_collector.advice.rules.catalogue import RULES
from flyball_collector.advice.scene import Scene
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.conditions import ActiveCondition, Conditions, place_of
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.kinds import KINDS
from flyball_collector.diagnosis.view import View

WATCH_SECONDS = 10.0
"""How often is noted what only many looks together tell."""

LOOK_SECONDS = 2.0
"""What has become due is looked at together: half of what a look costs is the same for one host as for a hundred."""

_OPENED_SECONDS = 60.0
_PLACES_A_SLICE = 32  # some milliseconds

_UNTRUSTED = ("host_lost", "data_gap")
"""While these stand nothing is known of a host, and advice that would make it faster is out of place."""

_ORDER = {kind.name: number for number, kind in enumerate(KINDS)}

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Advisor:
    """Belongs to the loop of the diagnosis; `given` may be read between two slices."""

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
        self._active: dict[str, tuple[Event, ...]] = {}  # by place, as of its last look; of wanted kinds
        self._agenda = Agenda()
        self._board = Board()
        self._checkpoints = CheckpointWatch()
        self._waits = IdleWaits()
        self._opened = Growth(_OPENED_SECONDS, 6)
        self._members = Membership()
        self._watched = self._looked = float("-inf")

    @property
    def given(self) -> tuple[Advice, ...]:
        """The latest, the most urgent first; one object as long as nothing else is said."""
        return self._board.given

    def slices(self, view: View, conditions: Conditions) -> Iterator[None]:
        """Look where it is time, in slices between which a loop may serve others; call it each second."""
        self._checkpoints.look(view)
        self._take(conditions, view.now)
        if not self._watched <= view.now < self._watched + WATCH_SECONDS:
            self._watched = view.now
            yield
            self._membership(view)
            yield
            yield from self._watch(view)
        if not self._looked <= view.now < self._looked + LOOK_SECONDS:
            yield from self._look_around(view)
        self._board.sort()

    def consider(self, view: View, active: Iterable[ActiveCondition]) -> tuple[Advice, ...]:
        """The advice for what stands now, all of it at once."""
        by_place: dict[str, list[Event]] = {}
        for item in active:
            by_place.setdefault(place_of(item.subject), []).append(item.event)
        for place in self._active.keys() | by_place.keys():
            self._stand(place, by_place.get(place, ()))
        for _ in self._watch(view):
            pass
        self._look(self._scene(view), tuple(self._active), view.now)
        self._board.sort()
        return self.given

    def _take(self, conditions: Conditions, now: float) -> None:
        """Follow what was raised, has changed, or was cleared."""
        other = [
            place
            for place in sorted(conditions.touched())
            if self._stand(place, (item.event for item in conditions.active_of(place)))
        ]
        self._agenda.changed(other, now)

    def _stand(self, place: str, events: Iterable[Event]) -> bool:
        """What stands at a place; whether it has to be looked at because of it."""
        wanted = tuple(sorted((e for e in events if e.kind.name in self._wanted), key=lambda e: _ORDER[e.kind.name]))
        before = self._active.get(place, ())
        if wanted:
            self._active[place] = wanted
        else:
            self._active.pop(place, None)
            self._agenda.forget([place])
            self._board.put(place, ())
        return bool(wanted) and wanted != before

    def _watch(self, view: View) -> Iterator[None]:
        """What is seen over some looks only, of all hosts."""
        matters: Flags = np.zeros(len(view.hosts), dtype=bool)
        matters[[at for subject, at in view.hosts.places.items() if subject.host in self._active]] = True
        yield from self._waits.look(view, lambda: self._membership(view), matters)
        self._count_opened(view)

    def _count_opened(self, view: View) -> Floats:
        """Connections opened a second, along hosts."""
        return self._opened.add(view.hosts, view.host_count("tcp_opened_total"), view.now) / _OPENED_SECONDS

    def _scene(self, view: View) -> Scene:
        waits, opened = self._waits.shares(view), self._count_opened(view)
        return Scene(view, waits, opened, self._checkpoints.habits(), self._membership(view))

    def _look_around(self, view: View) -> Iterator[None]:
        """Every place that is due."""
        due = self._agenda.due(view.now)
        if due:
            self._looked = view.now
            yield
            scene = self._scene(view)
            yield from scene.prepare()
            for first in range(0, len(due), _PLACES_A_SLICE):
                self._look(scene, due[first : first + _PLACES_A_SLICE], view.now)
                yield

    def _membership(self, view: View) -> Membership:
        if self._members.keys is not view.ranks.keys:
            self._members = Membership(view.ranks.keys)
        return self._members

    def _look(self, scene: Scene, places: Sequence[str], now: float) -> None:
        """What rules say of some places. One at which they fail has had its look; those after it stay due."""
        active = {place: self._active[place] for place in places if place in self._active}
        situations = scene.situations(event for events in active.values() for event in events)
        for place in active:
            self._agenda.looked(place, now)
            self._board.put(place, leaves_only(self._of(next(situations)), self._by_name))

    def _of(self, situation: Situation) -> Iterator[Advice]:
        asked: Mapping[str, Rule] = {
            rule.name: rule for kind in situation.active for rule in self._by_kind.get(kind, ())
        }
        blind = situation.stands(*_UNTRUSTED)
        for rule in asked.values():
            advice = rule.advise(situation, self._settings)
            if advice is not None and not (blind and advice.gain is not None):
                yield advice
