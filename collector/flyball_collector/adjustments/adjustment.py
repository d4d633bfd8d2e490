"""An adjustment: one change of one value in one run, from the proposal to its measured effect. It is a document."""

from enum import StrEnum

import msgspec

Value = bool | int | float | str
"""Of an adjustable value. It travels as a JSON text."""


class AdjustmentState(StrEnum):
    """The states. An adjustment goes forward only; the first three and `applied` are in progress."""

    PROPOSED = "proposed"  # waits for a person
    OFFERED = "offered"  # to every rank
    COMMITTED = "committed"  # every rank is prepared; the change comes at its step
    APPLIED = "applied"  # and its effect is being measured
    KEPT = "kept"
    ROLLED_BACK = "rolled_back"  # by its inverse, because it did harm
    UNDONE = "undone"  # by its inverse, because a person asked for it
    VETOED = "vetoed"  # by a rank, a person or the policy
    ABORTED = "aborted"  # at its step, by all ranks: a message was late
    EXPIRED = "expired"  # not all ranks answered, or nobody approved it
    WITHDRAWN = "withdrawn"  # its reason has gone, or the run ended
    FAILED = "failed"  # applied by some ranks alone, or with another value than offered


IN_PROGRESS = frozenset(
    {AdjustmentState.PROPOSED, AdjustmentState.OFFERED, AdjustmentState.COMMITTED, AdjustmentState.APPLIED}
)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision of a person or of the governor."""

    time_ns: int
    what: str  # approve, veto, undo, offer, commit, withdraw, keep, roll_back …
    who: str  # the name of a token, or `flyball`
    why: str = ""


class RankAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The newest answer of a rank."""

    verdict: str  # prepared, veto, applied, aborted, refused
    step: int = 0
    observed: Value | None = None
    reason: str = ""
    time_ns: int = 0


class MeasuredEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The measured change. A gain of 1.1 means 10 % more speed; the interval is one of 90 %."""

    gain: float
    gain_low: float
    gain_high: float
    step_seconds_before: float
    step_seconds_after: float
    tokens_per_second_before: float | None = None
    tokens_per_second_after: float | None = None
    peak_bytes_before: int | None = None
    peak_bytes_after: int | None = None
    steps_before: int = 0
    steps_after: int = 0
    faults: tuple[str, ...] = ()  # slower, memory, loss_not_finite, unstable: why it is taken back


class Adjustment(msgspec.Struct, frozen=True, kw_only=True):
    """The document."""

    id: str  # 16 hexadecimal digits
    run: str
    attempt: int
    name: str  # of the value
    lever: str = ""  # the standard change that it is
    value_from: Value
    value_to: Value
    values_from: dict[str, Value] = {}  # by rank, where ranks differ; `value_from` is then the one of most
    values_to: dict[str, Value] = {}  # by rank: of the inverse of such a change, which gives each rank its own back
    safety: int  # class 1 to 4
    state: AdjustmentState
    rule: str = ""  # of the advice behind it; empty: a person asked for it
    because: str = ""
    protects: bool = False  # made against memory that runs out, heat …: judged by survival, not by speed
    when: str = "step"  # when the ranks apply it: step, epoch or restart
    expected_low: float | None = None  # gain, as a factor
    expected_high: float | None = None
    predicted: dict[str, float] = {}  # memory, time … by the dry run
    hosts: tuple[str, ...] = ()
    ranks: int = 0
    at_step: int = 0
    term: int = 0
    created_ns: int = 0
    changed_ns: int = 0
    answers: dict[str, RankAnswer] = {}  # by rank, as text
    decisions: tuple[Decision, ...] = ()
    effect: MeasuredEffect | None = None
    inverse_of: str = ""  # this adjustment takes that one back
    inverse: str = ""  # the adjustment that takes this one back
    reason: str = ""  # why it ended as it did, in words

    def from_of(self, rank: int | str) -> Value:
        """Return the value of a rank before the change."""
        return self.values_from.get(str(rank), self.value_from)

    def to_of(self, rank: int | str) -> Value:
        """Return the value of a rank after the change."""
        return self.values_to.get(str(rank), self.value_to)

    @property
    def is_over(self) -> bool:
        """Return True if nothing more will happen to it."""
        return self.state not in IN_PROGRESS
