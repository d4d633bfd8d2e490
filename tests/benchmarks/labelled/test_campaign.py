"""The seed decides which episodes are recorded; generators that are never tuned on stay out of tuning."""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice

import pytest

from tests.benchmarks.labelled.campaign import Machine, choose, episodes
from tests.benchmarks.labelled.causes.catalogue import BY_NAME, NEW_PAIRS, PAIRS, QUIET, SEEN_PAIRS, SINGLE
from tests.benchmarks.labelled.causes.generator import History
from tests.benchmarks.labelled.episode import Episode

EVERYTHING = Machine(frozenset({"memory", "cpu", "blkio", "swap", "zram", "stress-ng", "packets", "fuse"}))
EPISODES = 300


def some(
    seed: int, *, tuning: bool = False, focus: bool = False, only: Sequence[str] = (), machine: Machine = EVERYTHING
) -> list[Episode]:
    """The first episodes of a seed."""
    choice = choose(machine, tuning=tuning, focus=focus, only=only)
    return list(islice(episodes(seed, choice, full_seconds=1), EPISODES))


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
    assert len(BY_NAME) == len(SINGLE) + len(QUIET)
    assert all(bool(generator.truth) is not generator.quiet for generator in BY_NAME.values())
    for one, other in (*PAIRS, *SEEN_PAIRS, *NEW_PAIRS):
        assert BY_NAME[one].cause != BY_NAME[other].cause


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_a_generator_draws_what_its_seed_decides(name: str) -> None:
    """Its strength has words, its switch needs no more control groups than the generator names, also in mixtures."""
    generator = BY_NAME[name]
    for draw in filter(None, (generator.draw, generator.draw_mixed)):
        for seed in range(20):
            drawn = draw(random.Random(seed))
            assert drawn == draw(random.Random(seed))
            assert drawn.strength
            assert set(drawn.switch.needs) <= set(generator.needs)
    assert len({generator.draw(random.Random(seed)).strength for seed in range(20)}) > 1 or generator.quiet


def test_many_kinds_were_never_used_before() -> None:
    """At least eight, of most causes; some of them are quiet."""
    never = [g for g in BY_NAME.values() if g.history is History.NEVER]
    assert len([g for g in never if not g.quiet]) >= 8
    assert {g.cause for g in never} >= {"cpu", "disk", "memory", "swap", "network", "service", "waiting", "quiet"}


def test_a_focus_is_on_what_was_never_used() -> None:
    """Two of three episodes are; networks and services come up in each round, the others now and then."""
    found = [set(episode.generators) for episode in some(1, focus=True)]
    never = {g.name for g in BY_NAME.values() if g.history is History.NEVER}
    assert sum(bool(names & never) for names in found) > len(found) * 0.6
    alone = Counter(name for names in found if len(names) == 1 for name in names)
    assert abs(alone["latency"] - alone["slow-target"]) <= 1
    assert 0 < alone["cold-reads"] < alone["latency"]
    assert all(alone[name] >= 5 for name in never)


def test_generators_can_be_chosen() -> None:
    """Only these come up then."""
    found = {name for episode in some(1, only=["spinners", "latency", "cpu-quota"]) for name in episode.generators}
    assert found == {"spinners", "latency", "cpu-quota"}
    with pytest.raises(ValueError, match="none of these"):
        choose(EVERYTHING, only=["no-such"])
