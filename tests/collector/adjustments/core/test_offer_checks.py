"""The checks of an offer."""

import pytest

from flyball_collector.adjustments.core.offer_checks import NotPossible, check
from flyball_collector.adjustments.declared.ranks import AbleRank, RankValue, RunValues
from tests.collector.adjustments.core_case import RUN, able, micro_batch


def values(*ranks: AbleRank) -> RunValues:
    return RunValues(RUN, ranks)


def two(first: RankValue, second: RankValue, **fields: object) -> RunValues:
    return values(able(0, 2, first, **fields), able(1, 2, second, **fields))


def test_equal_ranks_can_change() -> None:
    """The change begins at the common value and has the highest class of safety."""
    found = check(two(micro_batch(16), micro_batch(16, safety=3)), RUN, "micro_batch", 8)
    assert (found.value_from, found.safety, found.when) == (16, 3, "step")


def test_a_rank_may_have_the_new_value_already() -> None:
    """After a rank has halved its size itself, all others can follow. What each had is kept for the way back."""
    found = check(two(micro_batch(16), micro_batch(8)), RUN, "micro_batch", 8)
    assert (found.value_from, found.values_from) == (16, {"0": 16, "1": 8})


def test_ranks_may_have_different_values() -> None:
    """Several that ran out of memory are made equal at once, and each can get its own value back."""
    ranks = values(*(able(rank, 4, micro_batch(size)) for rank, size in enumerate((16, 8, 4, 16))))
    found = check(ranks, RUN, "micro_batch", 4)
    assert (found.value_from, found.values_from) == (16, {"0": 16, "1": 8, "2": 4, "3": 16})
    equal = values(*(able(rank, 2, micro_batch(4)) for rank in range(2)))
    assert check(equal, RUN, "micro_batch", 16, {"0": 16, "1": 8}).value_from == 4
    with pytest.raises(NotPossible, match="3 is not a choice"):
        check(equal, RUN, "micro_batch", 16, {"1": 3})


@pytest.mark.parametrize(
    ("found", "to", "text"),
    [
        (None, 8, "no rank of run 'llama' declares"),
        (values(able(0)), 8, "rank 1 declares no adjustable values, of 2 ranks of 'llama'"),
        (values(able(2, 40)), 8, "ranks 0, 1, 3, 4, 5, 6, 7, 8, … declare no adjustable values, of 40 ranks"),
        (two(micro_batch(), RankValue("workers", 1)), 8, "rank 1 does not declare"),
        (
            two(micro_batch(), micro_batch(blocked="batch_norm")),
            8,
            "rank 1 cannot change 'micro_batch' now: batch_norm",
        ),
        (two(micro_batch(), micro_batch()), 3, "3 is not a choice of 'micro_batch'; choose one of: 1, 2, 4, 8, 16, 32"),
        (two(micro_batch(), micro_batch()), 16, "is 16 already"),
        (two(micro_batch(), micro_batch(), register="none"), 8, "no way to agree"),
    ],
)
def test_what_the_ranks_cannot_do_together_is_refused(found: RunValues | None, to: int, text: str) -> None:
    """Each reason is given in words, with the rank and the choices."""
    with pytest.raises(NotPossible, match=text):
        check(found, RUN, "micro_batch", to)


def test_a_name_that_nobody_declares_is_answered_with_those_that_exist() -> None:
    """The reason lists the values of the run."""
    with pytest.raises(NotPossible, match="no adjustable value 'batch'; it has: micro_batch"):
        check(two(micro_batch(), micro_batch()), RUN, "batch", 8)


def test_values_of_class_one_need_no_register() -> None:
    """Values on which ranks may differ are changed without one."""
    pool = RankValue("pool", 4)
    assert check(two(pool, pool, register="none"), RUN, "pool", 8).value_from == 4
