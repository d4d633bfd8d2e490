"""Tests of the time that ranks take to exchange data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.timing.collectives import (
    Fabric,
    RankGroup,
    Routing,
    all_gather,
    all_reduce,
    all_to_all,
    bandwidth,
    eligible_nodes,
    nodes_of,
    occupied,
    send,
)

FABRIC = Fabric(*(np.array([each]) for each in (300e9, 25e9, 0.0, 0.0, 8.0)))
SLOW_START = Fabric(*(np.array([each]) for each in (300e9, 25e9, 5e-6, 15e-6, 8.0)))
SIZE = np.array([1.2e9])


def routed(copies: float, groups: float = 1.0, chosen: float = 1.0) -> Routing:
    """Return the routing of a token to some experts."""
    return Routing(*(np.array([each]) for each in (copies, groups, chosen)))


def group(ranks: int, stride: int = 1) -> RankGroup:
    """Return a group of ranks with a stride."""
    return RankGroup(np.array([float(ranks)]), np.array([float(stride)]))


def test_an_all_reduce_within_a_node_follows_the_ring() -> None:
    """A ring sends twice the size, less each rank's own part, over one link."""
    assert all_reduce(SIZE, group(8), FABRIC)[0] == pytest.approx(2 * 1.2e9 * 7 / 8 / 300e9)


def test_a_lone_rank_exchanges_nothing() -> None:
    """A group of one rank has no transfer time and no latency."""
    for exchange in (all_reduce, all_gather, send):
        assert exchange(SIZE, group(1), SLOW_START)[0] == 0.0
    assert all_to_all(SIZE, routed(2), group(1), SLOW_START)[0] == 0.0


def test_a_ring_over_nodes_uses_the_network_shares_of_its_members() -> None:
    """Eight ranks of a node use eight network shares; a single rank per node uses one."""
    assert bandwidth(group(64), FABRIC)[0] == pytest.approx(200e9)
    assert bandwidth(group(8, stride=8), FABRIC)[0] == pytest.approx(25e9)


def test_groups_count_their_nodes() -> None:
    """A group with a stride spreads over more nodes than a dense one."""
    assert [nodes_of(group(*each), FABRIC)[0] for each in ((8, 1), (16, 1), (8, 8), (2, 4))] == [1, 2, 8, 1]


def test_small_messages_take_the_latency_of_the_hops() -> None:
    """Without bytes an all-reduce takes only the latency of 2 × 7 hops."""
    assert all_reduce(np.array([0.0]), group(8), SLOW_START)[0] == pytest.approx(2 * 7 * 5e-6)


def test_copies_to_one_node_cross_the_network_once() -> None:
    """Eight copies to experts on three other nodes cost less than eight transfers over the network."""
    eight = all_to_all(SIZE, routed(8), group(32), FABRIC)[0]
    one = all_to_all(SIZE, routed(1), group(32), FABRIC)[0]
    assert one == pytest.approx(1.2e9 * 3 / 4 / 25e9)
    assert one < eight < 3 / (3 / 4) * one


def test_routers_can_limit_the_nodes_of_a_token() -> None:
    """Four of eight groups are on four of eight nodes and on all of fewer nodes, so less data crosses the network."""
    nodes = np.array([1.0, 4.0, 8.0, 16.0])
    assert eligible_nodes(routed(8), nodes) == pytest.approx(nodes)
    assert eligible_nodes(routed(8, 8, 4), nodes) == pytest.approx([1.0, 3.0, 4.0, 8.0])
    assert all_to_all(SIZE, routed(8, 8, 4), group(64), FABRIC)[0] < all_to_all(SIZE, routed(8), group(64), FABRIC)[0]


def test_several_experts_of_one_place_count_once() -> None:
    """Eight copies in eight places occupy five of them, and eight of very many."""
    assert occupied(np.array([1.0, 8.0, 1e6]), np.array([8.0])) == pytest.approx([1.0, 5.25, 8.0], abs=0.01)
    assert occupied(np.array([8.0]), np.array([0.0])) == 0.0


def test_the_next_stage_may_be_on_another_node() -> None:
    """A stage sends over the network if the next stage is on another node."""
    assert send(SIZE, group(2, stride=8), FABRIC)[0] == pytest.approx(1.2e9 / 25e9)
    assert send(SIZE, group(2, stride=4), FABRIC)[0] == pytest.approx(1.2e9 / 300e9)


@given(st.integers(1, 9).map(lambda power: 2**power), st.floats(1e3, 1e11))
def test_exchanges_grow_with_size_and_respect_the_bandwidth(ranks: int, size: float) -> None:
    """Twice the bytes take longer, and no group is faster than its link."""
    less = all_gather(np.array([size]), group(ranks), SLOW_START)[0]
    more = all_gather(np.array([2 * size]), group(ranks), SLOW_START)[0]
    assert more > less >= size * (ranks - 1) / ranks / 300e9
