"""A decision tree and a random forest, whose splits are exact: every feature is sorted at every node."""

import math
from typing import Annotated

from msgspec import Meta

from flyball_planner.models.classical import classical_cost, scattered, sequential
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import Family
from flyball_planner.models.specification import Count, Specification

DATA_BYTES = 4  # scikit-learn's trees read single precision
NODE_BYTES = 64  # of scikit-learn's node array, rounded, with its values
SORT_STEPS = 19.0  # elementary steps for each sample and halving of an introsort: 7.5 ns (scikit-learn 1.9)
SCAN_STEPS = 38.0  # gathering a feature's values, and walking over them with the impurity
SCATTERED_SHARE = 0.27  # of a scattered step (1.5 ns) that a step of one core after another (0.4 ns) takes
BOOTSTRAP = 0.632  # distinct samples in a bootstrap: 1 − 1/e


class DecisionTree(Specification, frozen=True, kw_only=True):
    """Keys of a tree."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features of a sample")]
    depth: Annotated[int, Meta(ge=0, le=200, description="levels at most; 0: until leaves are pure")] = 0
    classes: Annotated[Count, Meta(description="classes; 1 for a regression")] = 2


class RandomForest(Specification, frozen=True, kw_only=True):
    """Keys of a forest."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features of a sample")]
    trees: Annotated[Count, Meta(description="trees")] = 100
    depth: Annotated[int, Meta(ge=0, le=200, description="levels at most; 0: until leaves are pure")] = 0
    features: Annotated[int, Meta(ge=0, description="features tried at a split; 0: the square root of p")] = 0
    classes: Annotated[Count, Meta(description="classes; 1 for a regression")] = 2


def tree(wanted: DecisionTree) -> ModelCost:
    """One core grows it."""
    n, p = wanted.n, wanted.p
    levels = _levels(n, wanted.depth)
    nodes = _nodes(n, levels)
    return classical_cost(
        "decision_tree",
        "scikit-learn DecisionTree (CART, exact splits, one core)",
        sequential("splits", p * _split_steps(n, levels)),
        samples=n,
        parameters=nodes,
        working_bytes=n * (p * DATA_BYTES + 32) + nodes * (NODE_BYTES + 8 * wanted.classes),
        assumptions=(f"{levels:.0f} levels", "labels that cannot be told apart make trees deeper and slower"),
    )


def forest(wanted: RandomForest) -> ModelCost:
    """Trees over bootstraps, one tree a core at a time."""
    n, p = wanted.n, wanted.p
    drawn = max(1, round(BOOTSTRAP * n))
    levels = _levels(drawn, wanted.depth)
    nodes = wanted.trees * _nodes(drawn, levels)
    tried = min(p, wanted.features or max(1, round(math.sqrt(p))))
    steps = SCATTERED_SHARE * BOOTSTRAP * wanted.trees * tried * _split_steps(drawn, levels)
    return classical_cost(
        "random_forest",
        "scikit-learn RandomForest (CART, exact splits, a tree a core)",
        scattered("splits", steps, over_bytes=float(DATA_BYTES * drawn)),
        samples=n,
        parameters=nodes,
        working_bytes=n * p * DATA_BYTES + n * 32 * min(wanted.trees, 16) + nodes * (NODE_BYTES + 8 * wanted.classes),
        assumptions=(f"{tried} features tried at a split, {levels:.0f} levels", "all cores grow trees (n_jobs=-1)"),
    )


def _levels(samples: int, depth: int) -> float:
    """Without a limit a tree of random labels is about a third deeper than a balanced one."""
    unlimited = 1.35 * math.log2(samples) + 1
    return max(1.0, min(depth, unlimited) if depth else unlimited)


def _nodes(samples: int, levels: float) -> int:
    """Of a full tree, or of one whose leaves hold three samples each."""
    return round(min(2 ** (min(levels, 60) + 1) - 1, 2 * samples / 3 + 1))


def _split_steps(samples: int, levels: float) -> float:
    """Elementary steps a sample for one feature, over all levels; nodes halve at each."""
    halvings = (max(1.0, math.log2(max(2.0, samples / 2**level))) for level in range(round(levels)))
    return sum(SORT_STEPS * halving + SCAN_STEPS for halving in halvings)


FAMILIES = (
    Family("decision_tree", "decision tree with exact splits", DecisionTree, tree),
    Family("random_forest", "random forest with exact splits", RandomForest, forest),
)
