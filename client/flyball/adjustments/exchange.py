"""The rank's side of an offer, from its arrival to the decision at its step. Time, step and register are passed in.

All ranks change, or none: a rank that is prepared always asks the register, and obeys. What it wants itself counts only
if it is the first. So lost, late, doubled and reordered messages cannot split the ranks.
"""

from __future__ import annotations

from flyball.adjustments.register import NONE
from flyball.adjustments.value import LATER
from flyball.adjustments.veto import Veto
from flyball.training.texts import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from flyball.adjustments.register import Register
    from flyball.adjustments.value import AdjustableValue

    Message = dict[str, Any]

COMMIT = "commit"
ABORT = "abort"

_MOST_ANSWERS = 64  # to repeat, if an offer comes again
_DEFAULT_EXPIRES_SECONDS = 30.0


class RankMoment:
    """The position of the rank in its training: the last finished step, the attempt, and the time in seconds."""

    __slots__ = ("attempt", "now", "step")

    def __init__(self, step: int, attempt: int, now: float) -> None:
        self.step = step
        self.attempt = attempt
        self.now = now


class PendingOffer:
    """An offer for which this rank is prepared."""

    __slots__ = (
        "at",
        "attempt",
        "committed",
        "decided",
        "expires",
        "id",
        "key",
        "register",
        "to",
        "value",
        "withdrawn",
    )

    def __init__(
        self, message: Message, value: AdjustableValue, to: Any, register: Register, moment: RankMoment
    ) -> None:
        self.id = str(message["id"])
        self.at = int(message["at"])
        self.value = value
        self.to = to
        self.register = register
        self.attempt = moment.attempt
        self.key = f"flyball/{moment.attempt}/{self.id}"
        self.expires = moment.now + float(message.get("expires_seconds") or _DEFAULT_EXPIRES_SECONDS)
        self.committed = False
        self.withdrawn = ""  # the reason
        self.decided = ""  # by another rank, before this one has come to the step

    @property
    def at_once(self) -> bool:
        """Return True if the change needs neither a step nor a register."""
        return self.value.at_once is not None and self.value.at_once(self.to)


class OfferExchange:
    """Answers offers. One is pending at a time; nothing here raises what a value's callbacks raise."""

    def __init__(
        self, values: Mapping[str, AdjustableValue], find_register: Callable[[], Register], policy: str = "auto"
    ) -> None:
        self.pending: PendingOffer | None = None
        self.policy = policy
        self._values = values
        self._find_register = find_register
        self._answers: dict[str, Message] = {}
        self._later: dict[str, PendingOffer] = {}  # by value: decided, and not yet in effect

    def take(self, message: Message, moment: RankMoment) -> Message | None:
        """Take an offer, a commit or a withdrawal. Return the answer, if there is one."""
        if message["kind"] == "offer":
            return self._answer_offer(message, moment)
        pending = self.pending
        if pending is None or message["id"] != pending.id:
            return self._answers.get(message["id"])
        if message["kind"] == "commit":
            pending.committed = True
        else:
            pending.withdrawn = clean(message.get("reason") or "") or "withdrawn"
        return None

    def decide(self, moment: RankMoment) -> Message | None:
        """Decide at a boundary what is due there. Return the answer, if there is one."""
        pending = self.pending
        if pending is None or self._can_wait(pending, moment):
            return None
        if pending.at_once or moment.attempt != pending.attempt or moment.step >= pending.at:
            return self._settle(pending, moment)
        # It gives up before its step. If another rank has gone past it already, this one obeys.
        if _verdict(pending, ABORT) == COMMIT:
            pending.decided = COMMIT
            return None
        return self._end(pending, "aborted", moment, pending.withdrawn or "expired")

    def take_effect(self, value: AdjustableValue, failure: str, moment: RankMoment) -> Message | None:
        """Return the answer for a change that was decided earlier, and is in effect now."""
        pending = self._later.pop(value.name, None)
        return None if pending is None else self._end(pending, "applied", moment, clean(failure))

    def end(self, moment: RankMoment) -> list[Message]:
        """Give up everything, because the run is over. Ranks that go on do without this one."""
        waiting = [*self._later.values(), *([self.pending] if self.pending is not None else [])]
        self._later.clear()
        return [self._end(pending, "aborted", moment, "run ended") for pending in waiting]

    def _answer_offer(self, message: Message, moment: RankMoment) -> Message:
        known = self._answers.get(message["id"])
        if known is not None:
            return known
        register = self._find_register()
        objection = self._objection(message, register, moment)
        if objection:
            return self._remember(message["id"], "veto", moment, {"reason": objection})
        value = self._values[message["name"]]
        self.pending = PendingOffer(message, value, value.choice(message["to"]), register, moment)
        return self._remember(self.pending.id, "prepared", moment, {})

    def _objection(self, message: Message, register: Register, moment: RankMoment) -> str:
        """Return the reason for a veto, or an empty text."""
        if self.policy == "off":
            return "owner"
        if message.get("attempt", 0) != moment.attempt:
            return "attempt"
        value = self._values.get(message["name"])
        if value is None:
            return "unknown_value"
        to = value.choice(message["to"])
        if to is None:
            return "not_a_choice"
        if value.now not in (to, message.get("from")):
            return "stale"
        if self.pending is not None or value.name in self._later:
            return "busy"
        if value.at_once is not None and value.at_once(to):
            return ""
        if message["at"] <= moment.step + 1:
            return "late"
        if register.kind == NONE.kind and (value.together or value.safety > 1):
            return value.blocked or "no_register"
        if message.get("safety", value.safety) < value.safety:
            return "safety"
        return value.objection(to)

    def _can_wait(self, pending: PendingOffer, moment: RankMoment) -> bool:
        if pending.withdrawn or moment.attempt != pending.attempt:
            return bool(pending.decided) and moment.attempt == pending.attempt and moment.step < pending.at
        if pending.at_once:
            return not pending.committed and moment.now < pending.expires
        if moment.step >= pending.at:  # ranks that may differ have time until it expires
            return pending.register is NONE and not pending.committed and moment.now < pending.expires
        return pending.committed or bool(pending.decided) or moment.now < pending.expires

    def _settle(self, pending: PendingOffer, moment: RankMoment) -> Message | None:
        """Decide with the other ranks, and do it."""
        value, before = pending.value, pending.value.now
        gave_up = "" if pending.decided else _gave_up(pending, moment)
        veto = "" if pending.decided or gave_up else self._veto(pending)
        tried = value.tried_first and not (gave_up or veto or pending.decided) and not _decided_already(pending)
        failure = _change(value, pending.to) if tried else ""
        is_other = tried and not failure and not _is_same(value.now, pending.to)
        if failure != _LATER:
            veto = (
                veto
                or failure
                or (f"the function returned {value.now!r} instead of {pending.to!r}" if is_other else "")
            )
        if _verdict(pending, ABORT if gave_up or veto else COMMIT) == COMMIT:
            return self._applied(pending, moment, failure if tried else _change(value, pending.to))
        if tried and (is_other or not veto):  # another rank has given up meanwhile
            _change(value, before)
        kind = "veto" if veto and not pending.withdrawn else "aborted"
        return self._end(pending, kind, moment, pending.withdrawn or veto or gave_up or "other rank")

    def _veto(self, pending: PendingOffer) -> str:
        """Return why the value can no longer change, or an empty text."""
        if self._values.get(pending.value.name) is not pending.value:
            return "stale"  # the script has declared it again
        return "" if pending.at_once else pending.value.objection(pending.to)

    def _applied(self, pending: PendingOffer, moment: RankMoment, failure: str) -> Message | None:
        if failure == _LATER:
            self.pending = None
            self._later[pending.value.name] = pending
            return None
        return self._end(pending, "applied", moment, failure)

    def _end(self, pending: PendingOffer, kind: str, moment: RankMoment, reason: str) -> Message:
        if self.pending is pending:
            self.pending = None
        fields: Message = {"observed": pending.value.now} if kind == "applied" else {}
        return self._remember(pending.id, kind, moment, fields | ({"reason": reason} if reason else {}))

    def _remember(self, offer: str, kind: str, moment: RankMoment, fields: Message) -> Message:
        answer = {"kind": kind, "id": offer, "step": moment.step, **fields}
        self._answers.pop(offer, None)
        if len(self._answers) >= _MOST_ANSWERS:
            del self._answers[next(iter(self._answers))]
        self._answers[offer] = answer
        return answer


_LATER = "later"


def _verdict(pending: PendingOffer, mine: str) -> str:
    """Return the decision that all obey."""
    if pending.decided or pending.at_once:
        return pending.decided or mine
    try:
        return pending.register.decide(pending.key, mine)
    except Exception as error:  # noqa: BLE001  the job's store has gone, and so will the job
        pending.withdrawn = f"register failed: {clean(repr(error))}"
        return ABORT


def _is_same(one: Any, other: Any) -> bool:
    """Return True if two values are equal. True is not 1, as on the way to the collector."""
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _decided_already(pending: PendingOffer) -> bool:
    try:
        return bool(pending.register.peek(pending.key))
    except Exception:  # noqa: BLE001  as above; the decision itself will fail
        return True


def _gave_up(pending: PendingOffer, moment: RankMoment) -> str:
    """Return why this rank does not commit, or an empty text."""
    if pending.withdrawn:
        return pending.withdrawn
    if moment.attempt != pending.attempt:
        return "attempt"
    if not pending.committed:
        return "expired" if pending.at_once else "late"
    return ""


def _change(value: AdjustableValue, to: Any) -> str:
    """Change a value. Return why it failed, `_LATER`, or an empty text."""
    try:
        return _LATER if value.change(to) is LATER else ""
    except Veto as veto:
        return clean(veto) or "vetoed"
    except Exception as error:  # noqa: BLE001  it must not reach the training
        return f"callback failed: {clean(repr(error))}"
