"""A rule: from a situation to advice, pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flyball_collector.advice.advice import Advice, Effort, Gain, Safety
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.diagnosis.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a rule finds; what is the same for all its advice is the rule's."""

    because: str
    change: str
    evidence: Mapping[str, float | None] = field(default_factory=dict)  # what is unknown is left out
    proposed: Mapping[str, float] = field(default_factory=dict)
    gain: Gain | None = None
    confidence: float | None = None  # None: as sure as the conditions behind it
    safety: Safety | None = None  # None: the rule's
    caution: str = ""
    subject: Subject | None = None  # None: whom the conditions behind it are about
    events: tuple[Event, ...] | None = None  # None: everything that stands of the rule's kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One way to help. It is asked where a condition of one of its kinds stands."""

    name: str
    about: str  # one line, for people
    kinds: tuple[str, ...]
    effort: Effort
    safety: Safety
    source: str
    find: Callable[[Situation, AdviceSettings], Draft | None]
    leaves: tuple[str, ...] = ()  # rules that say the same more precisely: beside them this one is silent
    changes_results: bool = False

    def advise(self, situation: Situation, settings: AdviceSettings) -> Advice | None:
        """The advice for this situation, if it has any."""
        draft = self.find(situation, settings) if situation.stands(*self.kinds) else None
        if draft is None or (draft.gain is not None and draft.gain.upper < settings.least_gain):
            return None
        events = situation.events(*self.kinds) if draft.events is None else draft.events
        surest = max((event.confidence for event in events), default=0.0)
        subject = draft.subject or situation.about(events)
        return Advice(
            rule=self.name,
            subject=subject,
            gpu_index=situation.gpu_index_of(subject, events),
            because=draft.because,
            evidence={name: value for name, value in draft.evidence.items() if value is not None},
            change=draft.change,
            proposed=draft.proposed,
            gain=draft.gain,
            confidence=surest if draft.confidence is None else min(draft.confidence, surest),
            effort=self.effort,
            safety=draft.safety or self.safety,
            changes_results=self.changes_results,
            caution=draft.caution,
            source=self.source,
            severity=max((event.severity for event in events), default=Severity.INFO),
            conditions=tuple(sorted(event.condition for event in events)),
        )


def share(value: float | None) -> str:
    """For people; unknown is said, not hidden."""
    return "unknown" if value is None else f"{value:.0%}"
