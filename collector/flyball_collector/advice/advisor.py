"""The advisor: looks every few seconds at what stands, and says what to change; what it said stays as it is until it
changes materially."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from flyball_collector.advice.advice import Advice, Gain
from flyball_collector.advice.checkpoint_watch import CheckpointWatch
from flyball_collector.advice.ranking import leaves_only, ranked
from flyball_collector.advice.rule import Rule
from flyball_collector.advice.rules.catalogue import RULES
from flyball_collector.advice.scene import Scene
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.conditions import Standing
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.subject import Subject  # noqa: TC001  it stands in the annotation of an attribute
from flyball_collector.diagnosis.view import View

EVERY_SECONDS = 10.0

_CHANGED = 0.25  # of a number, before it is said again
_SURER = 0.2
_LOOKS = 6  # remembered, for what happens at the same time
_OPENED_SECONDS = 60.0
_SITUATIONS_A_SLICE = 256  # some 10 ms

_UNTRUSTED = ("host_lost", "data_gap")
"""While these stand nothing is known of a host, and advice that would make it faster is out of place."""


class Advisor:
    """Belongs to the loop of the diagnosis; `given` may be read between two looks."""

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
        self._overlaps: dict[str, deque[float]] = {}
        self._checkpoints = CheckpointWatch()
        self._opened = Growth(_OPENED_SECONDS, 6)
        self.given: tuple[Advice, ...] = ()  # the latest, the most urgent first
        self._last: dict[tuple[str, Subject], Advice] = {}
        self._due = float("-inf")

    def slices(self, view: View, standing: Callable[[], Iterable[Standing]]) -> Iterator[None]:
        """Consider what stands if it is time, in slices between which a loop may serve others; call it each second."""
        self._checkpoints.look(view)
        if not self._due - EVERY_SECONDS <= view.now < self._due:
            self._due = view.now + EVERY_SECONDS
            yield from self._consider(view, standing())

    def consider(self, view: View, standing: Iterable[Standing]) -> tuple[Advice, ...]:
        """The advice for what stands now."""
        for _ in self._consider(view, standing):
            pass
        return self.given

    def _consider(self, view: View, standing: Iterable[Standing]) -> Iterator[None]:
        opened = self._opened.add(view.hosts, view.host_count("tcp_opened_total"), view.now) / _OPENED_SECONDS
        means = {host: sum(seen) / len(seen) for host, seen in self._overlaps.items()}
        scene = Scene(view, means, opened, self._checkpoints.habits())
        found: list[Advice] = []
        seen: dict[str, deque[float]] = {}
        wanted = (item.event for item in standing if item.kind.name in self._wanted)
        for number, situation in enumerate(scene.situations(wanted)):
            if number % _SITUATIONS_A_SLICE == 0:
                yield
            self._look_together(scene, situation, seen)
            found += self._of(situation)
        self._overlaps = seen
        self._last = {(one.rule, one.subject): self._settled(one) for one in leaves_only(found, self._by_name)}
        self.given = ranked(self._last.values())

    def _of(self, situation: Situation) -> Iterable[Advice]:
        """What the rules say of one host or run."""
        asked = {rule.name: rule for kind in situation.standing for rule in self._by_kind.get(kind, ())}
        blind = situation.stands(*_UNTRUSTED)
        for rule in asked.values():
            advice = rule.advise(situation, self._settings)
            if advice is not None and not (blind and advice.gain is not None):
                yield advice

    def _look_together(self, scene: Scene, one: Situation, seen: dict[str, deque[float]]) -> None:
        """Remember how much of the time a host waited for input while its GPUs idled."""
        host = one.subject.host
        if one.gpus and one.data_wait_share is not None:
            overlap = scene.overlap(host)
            if overlap is not None:
                seen[host] = self._overlaps.get(host) or deque(maxlen=_LOOKS)
                seen[host].append(overlap)

    def _settled(self, new: Advice) -> Advice:
        """What was said before, unless it is materially another thing now."""
        old = self._last.get((new.rule, new.subject))
        return old if old is not None and not materially_other(old, new) else new


def materially_other(old: Advice, new: Advice) -> bool:
    """Whether it is worth saying again: another safety, urgency, or numbers that differ by a quarter."""
    if (old.safety, old.severity) != (new.safety, new.severity):
        return True
    if old.proposed.keys() != new.proposed.keys() or abs(old.confidence - new.confidence) >= _SURER:
        return True
    if not old.proposed and old.gain is None and new.gain is None and old.change != new.change:
        return True
    return _gains_differ(old.gain, new.gain) or any(_differ(old.proposed[k], new.proposed[k]) for k in old.proposed)


def _gains_differ(old: Gain | None, new: Gain | None) -> bool:
    if old is None or new is None:
        return old is not new
    return any(
        abs(before - after) > max(_CHANGED * (before - 1.0), 0.05)
        for before, after in ((old.lower, new.lower), (old.upper, new.upper))
    )


def _differ(old: float, new: float) -> bool:
    return abs(old - new) > _CHANGED * max(abs(old), 1e-9)
