"""Events: a condition was raised, changed or cleared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from flyball_collector.diagnosis.kinds import EventKind, Severity
from flyball_collector.diagnosis.subject import Subject


class State(StrEnum):
    """The change of a condition that an event reports."""

    RAISED = "raised"
    CHANGED = "changed"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An entry of the timeline. All events of one condition, from raised to cleared, share the id in `condition`."""

    condition: str  # hexadecimal
    time_ns: int  # collector time
    state: State
    kind: EventKind
    subject: Subject
    gpu_index: int | None = None  # the number of the subject's GPU on its host at that time
    severity: Severity
    confidence: float  # 0 … 1
    seconds_left: float | None = None
    seconds_left_low: float | None = None
    seconds_left_high: float | None = None
    level: float | None = None
    because: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)
    raised_ns: int = 0  # when the condition was raised
    clears_in_seconds: float | None = None  # it is below its exit level, and is cleared after this time
    times_in_hour: int = 0  # it comes and goes: so often within the last hour; 0: it does not

    def words(self) -> str:
        """Describe the subject for people."""
        return self.subject.words(self.gpu_index)
