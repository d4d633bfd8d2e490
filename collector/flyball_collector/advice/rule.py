"""Defines rules: pure functions from a situation to advice."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flyball_collector.advice.advice import Advice, Effort, Gain, Safety
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.diagnosis.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceDraft:
    """The finding of a rule. `Rule.advise` adds what is the same for all its advice."""

    because: str
    change: str
    evidence: Mapping[str, float | None] = field(default_factory=dict)  # unknown values are left out
    proposed: Mapping[str, float] = field(default_factory=dict)
    gain: Gain | None = None
    confidence: float | None = None  # None: the confidence of the conditions
    safety: Safety | None = None  # None: the safety of the rule
    caution: str = ""
    subject: Subject | None = None  # None: the subject of the conditions
    events: tuple[Event, ...] | None = None  # None: all active conditions of the rule's kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of advice. The rule is evaluated where a condition of one of its kinds is active."""

    name: str
    description: str  # one line, for people
    kinds: tuple[str, ...]
    effort: Effort
    safety: Safety
    source: str
    find: Callable[[Situation, AdviceSettings], AdviceDraft | None]
    yields_to: tuple[str, ...] = ()  # more specific rules that replace this one
    changes_results: bool = False

    def advise(self, situation: Situation, settings: AdviceSettings) -> Advice | None:
        """Return the advice for a situation, or None."""
        draft = self.find(situation, settings) if situation.has(*self.kinds) else None
        if draft is None or (draft.gain is not None and draft.gain.upper < settings.least_gain):
            return None
        events = situation.events(*self.kinds) if draft.events is None else draft.events
        highest = max((event.confidence for event in events), default=0.0)
        subject = draft.subject or situation.subject_of(events)
        return Advice(
            rule=self.name,
            subject=subject,
            gpu_index=situation.gpu_index_of(subject, events),
            because=draft.because,
            evidence={name: value for name, value in draft.evidence.items() if value is not None},
            change=draft.change,
            proposed=draft.proposed,
            gain=draft.gain,
            confidence=highest if draft.confidence is None else min(draft.confidence, highest),
            effort=self.effort,
            safety=draft.safety or self.safety,
            changes_results=self.changes_results,
            caution=draft.caution,
            source=self.source,
            severity=max((event.severity for event in events), default=Severity.INFO),
            conditions=tuple(sorted(event.condition for event in events)),
        )


def share(value: float) -> str:
    """Format a share for people."""
    return f"{100 * value:.0f} %"


def shares(*clauses: tuple[str, float | None]) -> str:
    """Join the clauses whose share is known; each is a template with a place for its share."""
    return "; ".join(template.format(share(value)) for template, value in clauses if value is not None)
