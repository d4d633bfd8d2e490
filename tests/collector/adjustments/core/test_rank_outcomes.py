"""The outcome of an offer at single ranks, in words."""

import msgspec

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, RankAnswer
from flyball_collector.adjustments.core.rank_outcomes import split_reason

COMMITTED = Adjustment(
    id="1", run="r", attempt=0, name="n", value_from=4, value_to=8, safety=1, state=AdjustmentState.COMMITTED, ranks=3,
    answers={str(rank): RankAnswer(verdict="applied", observed=8) for rank in range(3)},
)  # fmt: skip


def test_another_value_than_offered_is_named_with_the_expected_one() -> None:
    """The reason has both values, in the singular for a run of one rank."""
    offered = msgspec.structs.replace(COMMITTED, value_to=2)
    assert split_reason(offered) == "all ranks observe 8 instead of 2"
    alone = msgspec.structs.replace(offered, ranks=1, answers={"0": offered.answers["0"]})
    assert split_reason(alone) == "the rank observes 8 instead of 2"


def test_an_inverse_with_a_value_for_each_rank_is_not_compared_with_that_of_most() -> None:
    """Ranks that should have got different values back, and all have the one of most, do not observe 8 instead of 8."""
    own = msgspec.structs.replace(COMMITTED, values_to={"0": 8, "1": 8, "2": 16})
    assert split_reason(own) == "all ranks observe 8 instead of the value that each rank had before"
    same = msgspec.structs.replace(COMMITTED, values_to=dict.fromkeys("012", 16))
    assert split_reason(same) == "all ranks observe 8 instead of 16"
