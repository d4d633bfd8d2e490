"""Decision tree and random forest with exact splits: every feature is sorted at every node."""

import math
from typing import Annotated

from msgspec import Meta

from flyball_planner.models.classical import classical_cost, descent, scattered, sequential
from flyball_planner.models.complexity import DECISION_TREE, RANDOM_FOREST
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import ModelFamily
from flyball_planner.models.specification import Count, ModelSpecification

DATA_BYTES = 4  # scikit-learn's trees use single precision
NODE_BYTES = 64  # per node of scikit-learn's node array with its values, rounded
SORT_STEPS = 19.0  # elementary steps per sample and halving of an introsort: 7.5 ns (scikit-learn 1.9)
SCAN_STEPS = 38.0  # gathering a feature's values and scanning them for the impurity
SCATTERED_SHARE = 0.27  # time of a sequential step (0.4 ns) relative to a scattered one (1.5 ns)
BOOTSTRAP = 0.632  # share of distinct samples in a bootstrap: 1 − 1/e


class DecisionTree(ModelSpecification, frozen=True, kw_only=True):
    """Keys of a decision tree."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features per sample")]
    depth: Annotated[int, Meta(ge=0, le=200, description="maximum number of levels; 0: until leaves are pure")] = 0
    classes: Annotated[Count, Meta(description="classes; 1 for a regression")] = 2


class RandomForest(ModelSpecification, frozen=True, kw_only=True):
    """Keys of a random forest."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features per sample")]
    trees: Annotated[Count, Meta(description="trees")] = 100
    depth: Annotated[int, Meta(ge=0, le=200, description="maximum number of levels; 0: until leaves are pure")] = 0
    features: Annotated[int, Meta(ge=0, description="features tried per split; 0: the square root of p")] = 0
    classes: Annotated[Count, Meta(description="classes; 1 for a regression")] = 2


def tree(wanted: DecisionTree) -> ModelCost:
    """Return the cost of a tree, grown by one core."""
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
        assumptions=(f"{levels:.0f} levels", "inseparable labels make trees deeper and slower"),
        complexity=DECISION_TREE,
        inference=descent(levels, float(nodes * NODE_BYTES)),
    )


def forest(wanted: RandomForest) -> ModelCost:
    """Return the cost of trees over bootstraps, one tree per core at a time."""
    n, p = wanted.n, wanted.p
    drawn = max(1, round(BOOTSTRAP * n))
    levels = _levels(drawn, wanted.depth)
    nodes = wanted.trees * _nodes(drawn, levels)
    tried = min(p, wanted.features or max(1, round(math.sqrt(p))))
    steps = SCATTERED_SHARE * BOOTSTRAP * wanted.trees * tried * _split_steps(drawn, levels)
    return classical_cost(
        "random_forest",
        "scikit-learn RandomForest (CART, exact splits, one tree per core)",
        scattered("splits", steps, over_bytes=float(DATA_BYTES * drawn)),
        samples=n,
        parameters=nodes,
        working_bytes=n * p * DATA_BYTES + n * 32 * min(wanted.trees, 16) + nodes * (NODE_BYTES + 8 * wanted.classes),
        assumptions=(f"{tried} features tried per split, {levels:.0f} levels", "all cores grow trees (n_jobs=-1)"),
        complexity=RANDOM_FOREST,
        inference=descent(wanted.trees * levels, float(nodes * NODE_BYTES)),
        inference_calls=wanted.trees,
    )


def _levels(samples: int, depth: int) -> float:
    """Return the levels of a tree; without a limit, a tree of random labels is about a third deeper than a balanced
    one."""
    unlimited = 1.35 * math.log2(samples) + 1
    return max(1.0, min(depth, unlimited) if depth else unlimited)


def _nodes(samples: int, levels: float) -> int:
    """Return the nodes of a full tree, or of one whose leaves hold three samples each."""
    return round(min(2 ** (min(levels, 60) + 1) - 1, 2 * samples / 3 + 1))


def _split_steps(samples: int, levels: float) -> float:
    """Return the elementary steps per sample for one feature over all levels; nodes halve at each level."""
    halvings = (max(1.0, math.log2(max(2.0, samples / 2**level))) for level in range(round(levels)))
    return sum(SORT_STEPS * halving + SCAN_STEPS for halving in halvings)


FAMILIES = (
    ModelFamily("decision_tree", "decision tree with exact splits", DecisionTree, tree),
    ModelFamily("random_forest", "random forest with exact splits", RandomForest, forest),
)
