"""Gradient-boosted trees with histograms (XGBoost, LightGBM, CatBoost, H2O) or exact splits (XGBoost).

A step is one update of a histogram bin by LightGBM; other implementations need more steps for the same work. The
numbers of steps come from published benchmarks: LightGBM's own (`docs/Experiments.rst`, Higgs to Allstate, 16 threads)
and szilard/GBM-perf (airline data, 16 cores and V100), whose libraries differ by up to a factor of ten.
"""

import math
from typing import Annotated, Literal

from msgspec import Meta, Struct

from flyball_planner.models.classical import STEPS_A_SECOND, classical_cost, descent, scattered, sequential
from flyball_planner.models.complexity import EXACT_BOOSTING, HISTOGRAM_BOOSTING
from flyball_planner.models.cost import ModelCost, Operator
from flyball_planner.models.family import ModelFamily
from flyball_planner.models.specification import Count, ModelSpecification, UnfitKey

PARTITION_STEPS = 10.0  # assigning a sample to its child, per level
GRADIENT_STEPS = 30.0  # a sample's gradient, and its score after each tree
EXACT_STEPS = 13.0  # a sorted value reads its sample's gradient at random: about 20 ns instead of 1.5
GRADIENT_BYTES = 8  # first and second derivative
SAMPLE_BYTES = 36  # gradients, their ordered copy, score, label, indices (LightGBM)
BIN_BYTES = 16  # two sums in double precision
TREE_NODE_BYTES = 20  # two children, feature, threshold and flags (XGBoost's RegTree::Node)
SPARSE_BELOW = 0.2  # columns with a smaller share of values are stored sparsely (LightGBM's sparse_threshold is 0.8)
LINE_BYTES = 64.0  # cache line
COLUMN_NEAR_BYTES = 35e6  # column of one byte per sample that fits into a server's last-level cache (E5-2690 v4: 35 MB)
BASE_BYTES = 200e6  # the program with its libraries and threads

Library = Literal["lightgbm", "xgboost", "xgboost-exact", "catboost", "h2o", "h2o-xgboost"]


class Implementation(Struct, frozen=True):
    """The work of one library."""

    title: str
    factor: float  # steps for each of LightGBM's steps
    leaf_seconds: float = 0.0  # starting and joining threads or kernels, per leaf
    level_seconds: float = 0.0  # the same per level
    tree_seconds: float = 0.0  # the same per tree
    value_bytes: float = 1.0  # per feature and sample
    sample_bytes: float = SAMPLE_BYTES
    split_steps: float = 1.0  # per bin and leaf, to find the best split


IMPLEMENTATIONS: dict[tuple[str, str], Implementation] = {
    ("lightgbm", "cpu"): Implementation("LightGBM (histograms, leaf-wise)", 1.0, leaf_seconds=40e-6, split_steps=5.6),
    ("xgboost", "cpu"): Implementation("XGBoost (tree_method=hist)", 2.0, level_seconds=1e-4, value_bytes=12.0),
    ("xgboost-exact", "cpu"): Implementation("XGBoost (tree_method=exact)", 1.0, level_seconds=1e-4, value_bytes=16.0),
    ("catboost", "cpu"): Implementation("CatBoost (symmetric trees)", 4.0, tree_seconds=12e-3, value_bytes=55.0),
    ("h2o", "cpu"): Implementation("H2O GBM", 3.0, level_seconds=7e-3, value_bytes=8.0),
    ("h2o-xgboost", "cpu"): Implementation("H2O's XGBoost", 2.0, tree_seconds=20e-3, value_bytes=12.0),
    ("lightgbm", "gpu"): Implementation("LightGBM (OpenCL histograms)", 10.0, leaf_seconds=85e-6, value_bytes=1.0),
    ("xgboost", "gpu"): Implementation("XGBoost (device=cuda)", 1.0, level_seconds=6.5e-4, value_bytes=1.5),
    ("catboost", "gpu"): Implementation("CatBoost (task_type=GPU)", 5.0, level_seconds=1.4e-3, value_bytes=4.0),
    ("h2o-xgboost", "gpu"): Implementation("H2O's XGBoost on GPU", 12.0, tree_seconds=90e-3, value_bytes=1.5),
}
"""Split steps are from LightGBM 4.7 on 200 columns (8 ns per bin). Overheads are from the smallest data of GBM-perf
(100,000 samples), factors from larger ones. Where only one size is known (H2O, and LightGBM on a GPU, whose host
divides the samples), each accounts for about half of it. Bytes per value: XGBoost's CSR page and histogram index, two
copies with an index each for exact, and CatBoost's measured 50 GB for 100 million samples."""


class Boosting(ModelSpecification, frozen=True, kw_only=True):
    """Keys of boosted trees."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features per sample")]
    trees: Annotated[Count, Meta(description="boosting rounds")] = 100
    depth: Annotated[int, Meta(ge=1, le=30, description="levels per tree")] = 6
    leaves: Annotated[int, Meta(ge=0, description="leaves per tree for leaf-wise growth; 0: all of the depth")] = 0
    bins: Annotated[int, Meta(ge=2, le=65536, description="bins per histogram")] = 256
    nonzeros: Annotated[int, Meta(ge=0, description="features per sample of sparse data; 0: all")] = 0
    library: Annotated[Library, Meta(description="library")] = "xgboost"
    device: Annotated[Literal["cpu", "gpu"], Meta(description="device that grows the trees")] = "cpu"
    machines: Annotated[Count, Meta(description="machines that share the samples")] = 1


def boosting(wanted: Boosting) -> ModelCost:
    """Return the cost of all trees; each is a pass over the samples."""
    by = _implementation(wanted)
    levels = math.log2(wanted.leaves) if wanted.leaves else float(wanted.depth)
    columns = _columns(wanted)
    leaves = wanted.leaves or 2**wanted.depth
    rows = -(-wanted.n // wanted.machines)  # per machine
    overhead = leaves * by.leaf_seconds + levels * by.level_seconds + by.tree_seconds
    return classical_cost(
        "xgboost_like",
        by.title,
        _growing(wanted, by.factor * _steps(wanted, levels, columns), columns * _counted(levels), rows),
        scattered("splits", 2 * leaves * columns * wanted.bins * by.split_steps / rows, over_bytes=0.0),
        sequential("starting and joining", overhead * STEPS_A_SECOND / rows),
        samples=rows,
        passes=wanted.trees,
        parameters=wanted.trees * (2 * leaves - 1),
        working_bytes=BASE_BYTES + rows * (columns * by.value_bytes + by.sample_bytes) + _histograms(wanted, leaves),
        precision="fp32",
        assumptions=(
            f"{columns:g} columns after bundling, {levels:.1f} levels",
            *(
                (f"samples are divided among {wanted.machines} machines; histograms are negligible on a fast network",)
                if wanted.machines > 1
                else ()
            ),
        ),
        complexity=EXACT_BOOSTING if wanted.library == "xgboost-exact" else HISTOGRAM_BOOSTING,
        inference=descent(wanted.trees * levels, float(wanted.trees * 2 * leaves * TREE_NODE_BYTES)),
    )


def _implementation(wanted: Boosting) -> Implementation:
    found = IMPLEMENTATIONS.get((wanted.library, wanted.device))
    if found is None:
        able = [library for library, device in IMPLEMENTATIONS if device == wanted.device]
        raise UnfitKey(
            "xgboost_like",
            "library",
            f"{wanted.library} does not support {wanted.device}",
            expected="one of " + ", ".join(able),
        )
    return found


def _columns(wanted: Boosting) -> float:
    """Return the values of a sample in memory: all features, or the non-zero ones of sparse data."""
    present = wanted.nonzeros or wanted.p
    dense = wanted.library == "lightgbm" and present >= SPARSE_BELOW * wanted.p
    return float(wanted.p if dense else min(present, wanted.p))


def _steps(wanted: Boosting, levels: float, columns: float) -> float:
    """Return the steps per sample and tree; of two siblings, only the smaller one is counted."""
    if wanted.library == "xgboost-exact":
        return EXACT_STEPS * columns * levels
    return columns * _counted(levels) + PARTITION_STEPS * levels + GRADIENT_STEPS


def _counted(levels: float) -> float:
    """Return how often a sample is counted for one feature of one tree."""
    return 1 + (levels - 1) / 2


def _growing(wanted: Boosting, steps: float, updates: float, rows: int) -> Operator:
    """Return the operator that grows trees. Exact splits wait for gradients. Histograms are prefetched, but read a
    cache line for each byte of a long column, since the samples of a deep node are far from each other."""
    if wanted.library == "xgboost-exact":
        return scattered("growing", steps, over_bytes=float(rows * GRADIENT_BYTES))
    far = max(0.0, 1 - COLUMN_NEAR_BYTES / rows)
    return scattered("growing", steps, over_bytes=0.0, moved_bytes=LINE_BYTES * far * updates)


def _histograms(wanted: Boosting, leaves: int) -> float:
    """Return the histograms of all features of every leaf, which are kept for their siblings."""
    if wanted.library == "xgboost-exact":
        return 0.0
    return float(min(leaves, 1024) * _columns(wanted) * wanted.bins * BIN_BYTES)


FAMILIES = (ModelFamily("xgboost_like", "gradient-boosted trees", Boosting, boosting),)
