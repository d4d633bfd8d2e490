"""How long a group of devices takes to exchange data, over rings within nodes and between them."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Column = NDArray[np.float64]


class Fabric(Struct, frozen=True):
    """What connects the devices; rates are what one device can send, one way, after protocol and congestion."""

    within: Column  # bytes a second between neighbours of a node
    between: Column  # a device's share of its node's network
    hop_within: Column  # seconds a message takes, however small
    hop_between: Column
    devices_a_node: Column


class Group(Struct, frozen=True):
    """Ranks that exchange data: how many, and how far apart neighbours lie."""

    ranks: Column
    stride: Column  # 1: neighbours in the numbering; 8: every eighth device


def nodes_of(group: Group, fabric: Fabric) -> Column:
    """How many nodes a group touches."""
    span = group.ranks * group.stride
    return np.where(span <= fabric.devices_a_node, 1.0, np.minimum(group.ranks, np.ceil(span / fabric.devices_a_node)))


def bandwidth(group: Group, fabric: Fabric) -> Column:
    """Bytes a second of a ring through the group.

    A ring enters and leaves each node once, and has the network of all its members there to itself, since the other
    groups of the node have theirs.
    """
    nodes = nodes_of(group, fabric)
    members = np.maximum(1.0, group.ranks / nodes)
    return np.where(nodes > 1, np.minimum(fabric.within, fabric.between * members), fabric.within)


def hop(group: Group, fabric: Fabric) -> Column:
    """Seconds from one rank to the next; the slowest counts."""
    return np.where(nodes_of(group, fabric) > 1, fabric.hop_between, fabric.hop_within)


def all_reduce(size: Column, group: Group, fabric: Fabric) -> Column:
    """Sum over the ranks, at each rank: a reduce-scatter and an all-gather."""
    return 2 * all_gather(size, group, fabric)


def all_gather(size: Column, group: Group, fabric: Fabric) -> Column:
    """The whole of `size` bytes at each rank, of which each held its part; a reduce-scatter takes as long.

    The way through a ring is as long as the ring within a node; beyond, libraries build trees of nodes.
    """
    nodes = nodes_of(group, fabric)
    others = group.ranks - 1
    inside = np.maximum(group.ranks / nodes - 1, 0)
    wait = inside * fabric.hop_within + np.where(nodes > 1, np.ceil(np.log2(nodes)), 0) * fabric.hop_between
    moved = size * others / np.maximum(group.ranks, 1) / bandwidth(group, fabric)
    return np.where(others > 0, moved + wait, 0.0)


def all_to_all(size: Column, copies: Column, group: Group, fabric: Fabric) -> Column:
    """Every rank sends its `size` bytes to as many others as `copies` says, wherever they are.

    What goes to several ranks of one node crosses the network once and is handed on there, as DeepSeek's and NVIDIA's
    exchanges of experts do.
    """
    nodes = nodes_of(group, fabric)
    members = np.maximum(1.0, group.ranks / nodes)
    reached = (nodes - 1) * (1 - (1 - 1 / nodes) ** copies)  # other nodes, of copies thrown at random
    staying = copies * (members - 1) / members
    seconds = size * np.maximum(staying / fabric.within, reached / fabric.between) + hop(group, fabric)
    return np.where(group.ranks > 1, seconds, 0.0)


def send(size: Column, group: Group, fabric: Fabric) -> Column:
    """From one rank to the next."""
    outside = group.stride >= fabric.devices_a_node
    speed = np.where(outside, fabric.between, fabric.within)
    return np.where(group.ranks > 1, size / speed + np.where(outside, fabric.hop_between, fabric.hop_within), 0.0)
