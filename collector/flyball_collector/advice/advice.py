"""A piece of advice, and what must hold of every one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.diagnosis.subject import Subject


class Safety(StrEnum):
    """What a machine may do with it. None of them is acted on without the run's policy."""

    ADVISE = "A0"  # for people only
    SAFE = "A1"  # changes no result, and can be taken back
    CONSENT = "A2"  # changes results, or interrupts: only when the owner agrees


class Effort(IntEnum):
    """What it costs a person, roughly in hours; ranking divides by it."""

    SETTING = 1
    CODE = 2
    REWORK = 4
    HARDWARE = 8


@dataclass(frozen=True, slots=True)
class Gain:
    """The expected speed-up as an interval of factors; 1 is none."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not 1.0 <= self.lower <= self.upper:
            raise ValueError(f"gain of {self.lower} to {self.upper}: expected 1 ≤ lower ≤ upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to change about one subject. Gains of several are never added: their shares overlap."""

    rule: str
    subject: Subject
    gpu_index: int | None = None  # the number of the subject's GPU when it was told, for people
    because: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    change: str
    proposed: Mapping[str, float] = field(default_factory=dict)  # the change in numbers, for machines
    gain: Gain | None = None  # None: it prevents or repairs, it does not speed up
    confidence: float
    effort: Effort
    safety: Safety
    changes_results: bool = False
    caution: str = ""
    source: str
    severity: Severity = Severity.INFO  # of what it is about
    conditions: tuple[str, ...] = ()  # that it is built on

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"{self.rule}: confidence of {self.confidence}")
        if self.changes_results and self.safety is Safety.SAFE:
            raise ValueError(f"{self.rule}: what changes results is never safe to apply by itself")

    @property
    def needs_consent(self) -> bool:
        """Whether the owner must agree before anybody acts on it."""
        return self.safety is Safety.CONSENT or self.changes_results

    @property
    def worth(self) -> float:
        """Recoverable time (its lower bound) × confidence ÷ effort."""
        recoverable = self.gain.lower - 1.0 if self.gain is not None else 0.0
        return recoverable * self.confidence / self.effort
