"""One value over all ranks."""

from flyball_collector.adjustments.declared.declared_values import shared_value, shared_values
from tests.collector.adjustments.rules.runs import ranks, value


def test_a_value_of_all_ranks_is_shared() -> None:
    """Choices are those of every rank, the class is the highest, facts are those on which all agree."""
    one = value("micro_batch", choices=(4, 8, 16, 32))
    other = value("micro_batch", 8, choices=(8, 16), safety=3, facts={"per_rank": "32", "normalised": "tokens"})
    found = shared_value(ranks([one], [other], hosts=("a", "b")), "micro_batch")
    assert found is not None
    assert found.choices == (8, 16)
    assert (found.safety, dict(found.facts)) == (3, {"normalised": "tokens"})
    assert (found.differs, found.now, dict(found.by_host)) == (True, 8, {"a": 1, "b": 1})


def test_a_value_that_one_rank_lacks_is_not_shared() -> None:
    """All ranks must declare it, and as the same lever."""
    assert shared_value(ranks([value("throttle")], []), "throttle") is None
    other = value("throttle", lever="workers")
    assert shared_value(ranks([value("throttle")], [other]), "throttle") is None
    assert [one.name for one in shared_values(ranks([value("pause"), value("throttle")], [value("throttle")]))] == [
        "throttle"
    ]
    assert list(shared_values(ranks())) == []


def test_the_first_blocked_rank_blocks_all() -> None:
    """Its reason is kept."""
    found = shared_value(ranks([value("pause")], [value("pause", blocked="compiled")]), "pause")
    assert found is not None
    assert found.blocked == "compiled"


def test_choices_are_found_by_number() -> None:
    """Neighbours are strictly below or above; truth values and texts do not count as numbers."""
    found = shared_value(ranks([value("workers", 2, choices=(8, 1, 2, 4))]), "workers")
    assert found is not None
    assert (found.below(2), found.above(2), found.at_most(3), found.below(1), found.above(8)) == (1, 4, 2, None, None)
    assert (found.choice(4.0), found.choice(3.0)) == (4, None)
    switch = shared_value(ranks([value("pause")]), "pause")
    assert switch is not None
    assert (switch.numbers, switch.number) == ((), 0.0)


def test_facts_are_checked() -> None:
    """A fact that is not a number, negative or not finite is unknown."""
    found = shared_value(ranks([value("pool", facts={"a": "3", "b": "x", "c": "-1", "d": "inf"})]), "pool")
    assert found is not None
    assert [found.fact(name) for name in "abcde"] == [3.0, None, None, None, None]


def test_each_rank_has_measured_its_own_facts() -> None:
    """Ranks that know a fact contribute it, also where they differ."""
    run = ranks(*([value("pool", facts={"cost": cost})] for cost in ("3", "1", "x")))
    found = shared_value(run, "pool")
    assert found is not None
    assert found.fact("cost") is None
    assert found.measured("cost") == [1.0, 3.0]
