"""Answers and memory faults of ranks, as they come from agents: by their streams, and again with the hosts' records."""

from flyball_collector.adjustments.adjustment import RankAnswer, Value
from flyball_collector.adjustments.core.answers import ABORTED, APPLIED, PREPARED, REFUSED, VETO
from flyball_collector.adjustments.situation.run_situation import MemoryFault
from flyball_collector.adjustments.values import WrongValue, parse_value
from flyball_collector.foreign_text import one_line
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2

_LONGEST_REASON = 200
_VERDICTS = {
    pb.Answer.PREPARED: PREPARED,
    pb.Answer.VETO: VETO,
    pb.Answer.APPLIED: APPLIED,
    pb.Answer.ABORTED: ABORTED,
    pb.Answer.REFUSED: REFUSED,
}
_OUTCOMES = {word: verdict for verdict, word in _VERDICTS.items()} | {"expired": pb.Answer.ABORTED}


def answer_of(message: pb.Answer, now_ns: int) -> RankAnswer | None:
    """Return the answer of a rank; None if it cannot be used."""
    verdict = _VERDICTS.get(message.verdict)
    if verdict is None:
        return None
    try:
        observed = parse_value(message.observed) if message.observed else None
    except WrongValue:
        return None
    return RankAnswer(
        verdict=verdict,
        step=message.step,
        observed=observed,
        reason=one_line(message.reason, _LONGEST_REASON),
        time_ns=now_ns,
    )


def answer_of_outcome(outcome: telemetry_pb2.AdjustmentOutcome) -> pb.Answer | None:
    """Return the answer that a record repeats; None if it has no known outcome."""
    verdict = _OUTCOMES.get(outcome.outcome)
    if verdict is None:
        return None
    return pb.Answer(
        id=outcome.id,
        run=outcome.run,
        attempt=outcome.attempt,
        rank=outcome.rank,
        pid=outcome.pid,
        verdict=verdict,
        step=outcome.step,
        observed=outcome.observed,
        reason=outcome.reason,
    )


def fault_of(message: pb.OutOfMemory, now_ns: int) -> MemoryFault:
    """Return what a rank reports about its memory."""
    return MemoryFault(
        time_ns=now_ns,
        rank=message.rank,
        where=one_line(message.where, _LONGEST_REASON),
        name=one_line(message.name, _LONGEST_REASON),
        value_from=_value(getattr(message, "from")),  # `from` is a Python keyword
        value_to=_value(message.to),
        recovered=message.recovered,
    )


def fault_of_outcome(outcome: telemetry_pb2.AdjustmentOutcome, now_ns: int) -> MemoryFault:
    """Return what a record repeats about a rank's memory. The time is that of its arrival."""
    return MemoryFault(
        time_ns=now_ns,
        rank=outcome.rank,
        where=one_line(outcome.reason, _LONGEST_REASON).removeprefix("in ").partition(";")[0],
        name=one_line(outcome.name, _LONGEST_REASON),
        value_from=_value(getattr(outcome, "from")),
        value_to=_value(outcome.to),
        recovered="not recovered" not in outcome.reason,
    )


def _value(text: str) -> Value | None:
    try:
        return parse_value(text) if text else None
    except WrongValue:
        return None
