"""The messages to agents about one adjustment."""

import math

from flyball_collector.adjustments.adjustment import Adjustment
from flyball_collector.adjustments.limits import GOVERNOR
from flyball_collector.adjustments.values import value_text
from flyball_proto.v1 import adjust_pb2 as pb

_LONGEST_TEXT = 500


def offer_message(adjustment: Adjustment, seconds: float) -> pb.CollectorAdjust:
    """Return the offer."""
    return pb.CollectorAdjust(
        offer=pb.Offer(
            id=adjustment.id,
            term=adjustment.term,
            run=adjustment.run,
            attempt=adjustment.attempt,
            name=adjustment.name,
            to=value_text(adjustment.value_to),
            at_step=adjustment.at_step,
            expires_seconds=math.ceil(seconds),
            safety=adjustment.safety,
            because=(adjustment.rule or adjustment.because)[:_LONGEST_TEXT],
            approved_by=approved_by(adjustment)[:_LONGEST_TEXT],
            **{"from": value_text(adjustment.value_from)},
        )
    )


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
