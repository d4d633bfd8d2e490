"""The type of advice and the rules that every piece of advice must meet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.diagnosis.subject import Subject


class Safety(StrEnum):
    """The safety class: whether a machine may make the change. The run's policy must always allow it."""

    ADVISE = "A0"  # only for people
    SAFE = "A1"  # does not change results and can be undone
    CONSENT = "A2"  # changes results or interrupts the run: only with the owner's consent


class Effort(IntEnum):
    """The cost for a person, roughly in hours. The ranking divides by it."""

    SETTING = 1
    CODE = 2
    REWORK = 4
    HARDWARE = 8


@dataclass(frozen=True, slots=True)
class Gain:
    """The expected speed-up as an interval of factors; 1 means none."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not 1.0 <= self.lower <= self.upper:
            raise ValueError(f"gain of {self.lower} to {self.upper}: expected 1 ≤ lower ≤ upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A change to one subject. Gains of several pieces of advice are never added, because they overlap."""

    rule: str
    subject: Subject
    gpu_index: int | None = None  # the number of the subject's GPU at that time, for people
    because: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    change: str
    proposed: Mapping[str, float] = field(default_factory=dict)  # the change in numbers, for machines
    gain: Gain | None = None  # None: the advice prevents or repairs a problem
    confidence: float
    effort: Effort
    safety: Safety
    changes_results: bool = False
    caution: str = ""
    source: str
    severity: Severity = Severity.INFO  # of the conditions behind it
    conditions: tuple[str, ...] = ()  # ids of the conditions behind it

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"{self.rule}: confidence {self.confidence}: expected a number from 0 to 1")
        if self.changes_results and self.safety is Safety.SAFE:
            raise ValueError(f"{self.rule}: advice that changes results must not have safety A1")

    @property
    def needs_consent(self) -> bool:
        """Return True if the owner must agree before the change is made."""
        return self.safety is Safety.CONSENT or self.changes_results

    @property
    def worth(self) -> float:
        """Return the lower bound of the time saved × confidence ÷ effort."""
        recoverable = self.gain.lower - 1.0 if self.gain is not None else 0.0
        return recoverable * self.confidence / self.effort
