"""Answers of processes as messages for the collector, and as outcomes for the record."""

from flyball_agent.adjustments.able_process import PassedOffer
from flyball_agent.runs.adjustment_messages import (
    AbortedMessage,
    AdjustmentAnswer,
    AppliedMessage,
    OomMessage,
    PreparedMessage,
    VetoMessage,
    text_of,
)
from flyball_proto.v1 import adjust_pb2 as adjust
from flyball_proto.v1 import telemetry_pb2 as pb

OUT_OF_MEMORY = "out_of_memory"
_VERDICTS: dict[type[AdjustmentAnswer], tuple[adjust.Answer.Verdict.ValueType, str]] = {
    PreparedMessage: (adjust.Answer.PREPARED, "prepared"),
    VetoMessage: (adjust.Answer.VETO, "veto"),
    AppliedMessage: (adjust.Answer.APPLIED, "applied"),
    AbortedMessage: (adjust.Answer.ABORTED, "aborted"),
}


def answer_of(able: adjust.Able, message: AdjustmentAnswer) -> adjust.AgentAdjust:
    """Return the answer of a rank for the collector."""
    answer = adjust.Answer(
        id=message.id,
        run=able.run,
        attempt=able.attempt,
        rank=able.rank,
        pid=able.pid,
        verdict=_VERDICTS[type(message)][0],
        step=message.step,
        observed=_observed(message),
        reason=_reason(message),
    )
    return adjust.AgentAdjust(answer=answer)


def outcome_of(able: adjust.Able, message: AdjustmentAnswer, offer: PassedOffer, time_ns: int) -> pb.AdjustmentOutcome:
    """Return the same for the record."""
    outcome = _outcome(able, offer, _VERDICTS[type(message)][1], time_ns)
    outcome.step, outcome.observed, outcome.reason = message.step, _observed(message), _reason(message)
    return outcome


def refusal_of(
    able: adjust.Able, offer: PassedOffer, outcome: str, reason: str, time_ns: int
) -> tuple[adjust.AgentAdjust, pb.AdjustmentOutcome]:
    """Return the agent's own refusal. The rank and process id are 0 if it concerns the whole host."""
    answer = adjust.Answer(
        id=offer.id,
        run=able.run,
        attempt=able.attempt,
        rank=able.rank,
        pid=able.pid,
        verdict=adjust.Answer.REFUSED,
        reason=reason,
    )
    noted = _outcome(able, offer, outcome, time_ns)
    noted.reason = reason
    return adjust.AgentAdjust(answer=answer), noted


def oom_message(able: adjust.Able, message: OomMessage) -> adjust.AgentAdjust:
    """Return what a rank did after it ran out of memory, for the collector."""
    out_of_memory = adjust.OutOfMemory(
        run=able.run,
        attempt=able.attempt,
        rank=able.rank,
        pid=able.pid,
        step=message.step,
        where=message.where,
        name=message.name,
        to=text_of(message.to),
        recovered=message.recovered,
        retry_seconds=message.retry_seconds,
    )
    setattr(out_of_memory, "from", text_of(message.from_))  # `from` is a Python keyword
    return adjust.AgentAdjust(out_of_memory=out_of_memory)


def oom_outcome(able: adjust.Able, message: OomMessage, time_ns: int) -> pb.AdjustmentOutcome:
    """Return the same for the record. The reason is empty if the rank has recovered."""
    offer = PassedOffer("", message.name, text_of(message.from_), text_of(message.to), 0.0)
    outcome = _outcome(able, offer, OUT_OF_MEMORY, time_ns)
    where = message.where or "step"
    outcome.step, outcome.seconds = message.step, message.retry_seconds
    outcome.reason = f"in {where}" if message.recovered else f"in {where}; not recovered"
    return outcome


def _outcome(able: adjust.Able, offer: PassedOffer, outcome: str, time_ns: int) -> pb.AdjustmentOutcome:
    noted = pb.AdjustmentOutcome(
        id=offer.id,
        run=able.run,
        attempt=able.attempt,
        rank=able.rank,
        pid=able.pid,
        name=offer.name,
        outcome=outcome,
        to=offer.value_to,
        time_ns=time_ns,
    )
    setattr(noted, "from", offer.value_from)
    return noted


def _observed(message: AdjustmentAnswer) -> str:
    return text_of(message.observed) if isinstance(message, AppliedMessage) else ""


def _reason(message: AdjustmentAnswer) -> str:
    return "" if isinstance(message, PreparedMessage) else message.reason
