"""The seed decides which episodes are recorded; generators that are never tuned on stay out of tuning."""

from itertools import islice

import pytest

from tests.benchmarks.labelled.campaign import Machine, episodes
from tests.benchmarks.labelled.causes.catalogue import BY_NAME, NEW_PAIRS, PAIRS, QUIET, SINGLE
from tests.benchmarks.labelled.episode import Episode

EVERYTHING = Machine(frozenset({"memory", "cpu", "swap", "stress-ng"}))
ROUNDS = 200


def some(seed: int, *, tuning: bool = False, machine: Machine = EVERYTHING) -> list[Episode]:
    """The first episodes of a seed."""
    return list(islice(episodes(seed, machine, tuning=tuning, full_seconds=1), ROUNDS))


def test_a_seed_decides_everything() -> None:
    """The same seed gives the same episodes, strengths included; another gives others."""
    assert some(5) == some(5)
    assert some(5) != some(6)


def test_tuning_never_meets_what_it_is_scored_on() -> None:
    """Neither alone nor in mixtures; scoring meets at least three kinds that tuning never saw."""
    assert all(BY_NAME[name].tuned for episode in some(1, tuning=True) for name in episode.generators)
    scored = {name for episode in some(1) for name in episode.generators}
    assert len([name for name in scored if not BY_NAME[name].tuned]) >= 3


def test_what_the_machine_cannot_do_is_left_out() -> None:
    """Without control groups, swap and stress-ng there are still bottlenecks to make."""
    names = {name for episode in some(1, machine=Machine(frozenset())) for name in episode.generators}
    assert {"spinners", "cold-reads", "latency", "small-calls"} <= names
    assert not any(BY_NAME[name].needs for name in names)


def test_every_generator_comes_up() -> None:
    """In a few rounds, whatever the seed; names are unique."""
    found = some(3)
    assert {name for episode in found for name in episode.generators} >= {g.name for g in (*SINGLE, *QUIET)}
    assert len({episode.name for episode in found}) == len(found)


def test_the_catalogue_is_whole() -> None:
    """Names are unique, quiet ones blame nobody, the others somebody; pairs name generators of different causes."""
    assert len(BY_NAME) == len(SINGLE) + len(QUIET) + 1
    assert all(bool(generator.truth) is not generator.quiet for generator in BY_NAME.values())
    for one, other in (*PAIRS, *NEW_PAIRS):
        assert BY_NAME[one].cause != BY_NAME[other].cause


def test_generators_can_be_chosen() -> None:
    """Only these come up then; what the agent cannot see comes only when asked for."""
    chosen = islice(
        episodes(1, EVERYTHING, tuning=False, full_seconds=1, only=["spinners", "latency", "cpu-quota"]), 50
    )
    assert {name for episode in chosen for name in episode.generators} == {"spinners", "latency", "cpu-quota"}
    assert "cpu-quota" not in {name for episode in some(1) for name in episode.generators}
    with pytest.raises(ValueError, match="none of these"):
        next(episodes(1, EVERYTHING, tuning=False, full_seconds=1, only=["no-such"]))
