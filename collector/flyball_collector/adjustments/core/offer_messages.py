"""The messages to agents about one adjustment."""

import math
from collections.abc import Iterable, Mapping

import msgspec

from flyball_collector.adjustments.adjustment import Adjustment, Value
from flyball_collector.adjustments.limits import GOVERNOR
from flyball_collector.adjustments.values import same_value, value_text
from flyball_proto.v1 import adjust_pb2 as pb

_LONGEST_TEXT = 500


def offer_message(adjustment: Adjustment, seconds: float, ranks: Iterable[int]) -> pb.CollectorAdjust:
    """Return the offer for the host of some ranks. Where they differ, it has the value of each."""
    chosen = list(ranks)
    return pb.CollectorAdjust(
        offer=pb.Offer(
            id=adjustment.id,
            term=adjustment.term,
            run=adjustment.run,
            attempt=adjustment.attempt,
            name=adjustment.name,
            to=_of_ranks(adjustment.value_to, adjustment.values_to, chosen),
            at_step=adjustment.at_step,
            expires_seconds=math.ceil(seconds),
            safety=adjustment.safety,
            because=(adjustment.rule or adjustment.because)[:_LONGEST_TEXT],
            approved_by=approved_by(adjustment)[:_LONGEST_TEXT],
            **{"from": _of_ranks(adjustment.value_from, _different(adjustment), chosen)},
        )
    )


def _different(adjustment: Adjustment) -> Mapping[str, Value]:
    """Return the values of the ranks, if they had several, without the new one, which a rank accepts too."""
    others = {each for rank, each in adjustment.values_from.items() if not same_value(each, adjustment.to_of(rank))}
    return adjustment.values_from if len(others) > 1 else {}


def _of_ranks(value: Value, values: Mapping[str, Value], ranks: Iterable[int]) -> str:
    """Return the JSON text of a value, or an object with the value of each rank."""
    if not values:
        return value_text(value)
    return msgspec.json.encode({str(rank): values.get(str(rank), value) for rank in ranks}).decode()


def commit_message(adjustment: Adjustment) -> pb.CollectorAdjust:
    """Return the commit."""
    commit = pb.Commit(id=adjustment.id, term=adjustment.term, run=adjustment.run, attempt=adjustment.attempt)
    return pb.CollectorAdjust(commit=commit)


def withdraw_message(adjustment: Adjustment, reason: str) -> pb.CollectorAdjust:
    """Return the withdrawal."""
    return pb.CollectorAdjust(
        withdraw=pb.Withdraw(
            id=adjustment.id,
            term=adjustment.term,
            run=adjustment.run,
            attempt=adjustment.attempt,
            reason=reason[:_LONGEST_TEXT],
        )
    )


def approved_by(adjustment: Adjustment) -> str:
    """Return the person who asked for it or approved it; empty if the policy allowed it without one."""
    return next(
        (
            each.who
            for each in reversed(adjustment.decisions)
            if each.what in {"approve", "propose", "undo"} and each.who != GOVERNOR
        ),
        "",
    )
