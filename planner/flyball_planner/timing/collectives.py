"""Times of collective operations over rings within nodes and between them."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Column = NDArray[np.float64]


class Fabric(Struct, frozen=True):
    """The links between devices. Rates are per device and direction, after protocol and congestion."""

    within: Column  # bytes per second between neighbours in a node
    between: Column  # a device's share of its node's network
    hop_within: Column  # seconds that the smallest message takes
    hop_between: Column
    devices_a_node: Column


class RankGroup(Struct, frozen=True):
    """Ranks that exchange data: their number, and the distance between neighbours."""

    ranks: Column
    stride: Column  # 1: consecutive devices; 8: every eighth device


class Routing(Struct, frozen=True):
    """The experts of a token. Some routers choose them from few groups of neighbours (DeepSeek-V3: 4 of 8)."""

    copies: Column  # experts per token
    groups: Column  # of experts, of equal size; 1 without groups
    chosen: Column  # groups of a token


def nodes_of(group: RankGroup, fabric: Fabric) -> Column:
    """Return the number of nodes that a group covers."""
    span = group.ranks * group.stride
    return np.where(span <= fabric.devices_a_node, 1.0, np.minimum(group.ranks, np.ceil(span / fabric.devices_a_node)))


def bandwidth(group: RankGroup, fabric: Fabric) -> Column:
    """Return the bytes per second of a ring through the group.

    A ring enters and leaves each node once. There it has the network share of all its members, because the other groups
    of the node use their own shares.
    """
    nodes = nodes_of(group, fabric)
    members = np.maximum(1.0, group.ranks / nodes)
    return np.where(nodes > 1, np.minimum(fabric.within, fabric.between * members), fabric.within)


def hop(group: RankGroup, fabric: Fabric) -> Column:
    """Return the seconds of the slowest hop from one rank to the next."""
    return np.where(nodes_of(group, fabric) > 1, fabric.hop_between, fabric.hop_within)


def all_reduce(size: Column, group: RankGroup, fabric: Fabric) -> Column:
    """Return the time to sum data over the ranks: a reduce-scatter and an all-gather."""
    return 2 * all_gather(size, group, fabric)


def all_gather(size: Column, group: RankGroup, fabric: Fabric) -> Column:
    """Return the time until each rank has all `size` bytes, of which each held a part; a reduce-scatter takes as long.

    Within a node the latency is that of a ring; between nodes, libraries build trees.
    """
    nodes = nodes_of(group, fabric)
    others = group.ranks - 1
    inside = np.maximum(group.ranks / nodes - 1, 0)
    wait = inside * fabric.hop_within + np.where(nodes > 1, np.ceil(np.log2(nodes)), 0) * fabric.hop_between
    moved = size * others / np.maximum(group.ranks, 1) / bandwidth(group, fabric)
    return np.where(others > 0, moved + wait, 0.0)


def ring_wait(group: RankGroup, fabric: Fabric) -> Column:
    """Return the time in which the smallest message passes all ranks of a ring.

    Gathering and scattering have no trees: NCCL only computes sums with them (src/graph/tuning.cc).
    """
    nodes = nodes_of(group, fabric)
    wait = (group.ranks - nodes) * fabric.hop_within + np.where(nodes > 1, nodes, 0) * fabric.hop_between
    return np.where(group.ranks > 1, wait, 0.0)


def all_to_all(size: Column, routing: Routing, group: RankGroup, fabric: Fabric) -> Column:
    """Return the time in which every rank sends `size` bytes to the ranks of the experts of each token.

    Data for several ranks of one node crosses the network once and is forwarded there, and data for several experts of
    one rank is sent once, as in DeepSeek's and NVIDIA's expert exchanges (DeepEP, HybridEP).
    """
    nodes = nodes_of(group, fabric)
    members = np.maximum(1.0, group.ranks / nodes)
    eligible = eligible_nodes(routing, nodes)
    reached = occupied(eligible, routing.copies) * (nodes - 1) / nodes  # without the own node
    staying = occupied(eligible * members, routing.copies) * (members - 1) / members
    seconds = size * np.maximum(staying / fabric.within, reached / fabric.between) + hop(group, fabric)
    return np.where(group.ranks > 1, seconds, 0.0)


def eligible_nodes(routing: Routing, nodes: Column) -> Column:
    """Return the expected number of nodes that hold one of a token's groups of experts."""
    together = np.maximum(1.0, routing.groups / nodes)  # groups of a node
    return np.maximum(1.0, nodes * (1 - (1 - routing.chosen / routing.groups) ** together))


def occupied(places: Column, copies: Column) -> Column:
    """Return the expected number of places that have at least one of some copies, if each copy is anywhere."""
    found: Column = places * (1 - (1 - 1 / places) ** copies)
    return found


def send(size: Column, group: RankGroup, fabric: Fabric) -> Column:
    """Return the time to send data from one rank to the next."""
    outside = group.stride >= fabric.devices_a_node
    speed = np.where(outside, fabric.between, fabric.within)
    return np.where(group.ranks > 1, size / speed + np.where(outside, fabric.hop_between, fabric.hop_within), 0.0)
