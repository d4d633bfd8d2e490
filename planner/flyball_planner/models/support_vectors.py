"""Support vector machines: linear by Newton steps, with a radial kernel by sequential minimal optimisation."""

from typing import Annotated

from msgspec import Meta

from flyball_planner.models.classical import NUMBER_BYTES, classical_cost, sequential
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import Family
from flyball_planner.models.specification import Count, Share, Specification

WIDTH = NUMBER_BYTES["fp64"]  # LIBLINEAR and LIBSVM know no other
SPARSE_BYTES = 16  # a feature_node: index and value, padded
STEPS_A_FEATURE = (
    28.0  # several conjugate gradients a Newton step, each over the data twice: 11 ns (scikit-learn 1.9) …
)
STEPS_A_SAMPLE = 560.0  # … and 220 ns a sample
KERNEL_STEPS = 30.0  # one exponential and its call, beside the features
SCAN_STEPS = 3.0  # choosing the working set reads gradient, state and kernel row of every sample


class LinearSvm(Specification, frozen=True, kw_only=True):
    """Keys of the linear machine."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features of a sample")]
    iterations: Annotated[Count, Meta(description="Newton steps until it converges")] = 10


class RadialSvm(Specification, frozen=True, kw_only=True):
    """Keys of the machine with a radial kernel."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features of a sample")]
    support: Annotated[Share, Meta(description="share of samples that become support vectors")] = 0.3
    iterations_a_sample: Annotated[float, Meta(gt=0, description="working sets optimised, divided by n")] = 0.7
    cache_bytes: Annotated[Count, Meta(description="kernel cache")] = 200_000_000


def linear(wanted: LinearSvm) -> ModelCost:
    """Trust-region Newton steps on the primal problem, as scikit-learn chooses where samples outnumber features."""
    n, p = wanted.n, wanted.p
    return classical_cost(
        "svm_linear",
        "LIBLINEAR (trust-region Newton, one core)",
        sequential("conjugate gradients", STEPS_A_FEATURE * p + STEPS_A_SAMPLE),
        samples=n,
        passes=wanted.iterations,
        parameters=p + 1,
        working_bytes=n * p * (WIDTH + SPARSE_BYTES) + n * 3 * WIDTH,
        assumptions=(f"{wanted.iterations} Newton steps: data that are not scaled need several times more",),
    )


def radial(wanted: RadialSvm) -> ModelCost:
    """Each step needs two rows of the kernel matrix; those that the cache has lost are computed again."""
    n, p = wanted.n, wanted.p
    steps = max(1.0, wanted.iterations_a_sample * n)
    active_rows = max(1.0, 2 * wanted.support * n)  # rows of the samples that are ever chosen
    cached_rows = wanted.cache_bytes / (4 * n)  # LIBSVM keeps them in single precision
    computed = min(active_rows, 2 * steps) + max(0.0, 2 * steps - active_rows) * max(0.0, 1 - cached_rows / active_rows)
    return classical_cost(
        "svm_rbf",
        "scikit-learn SVC, LIBSVM (SMO, one core)",
        sequential("kernel rows", computed * (p + KERNEL_STEPS)),
        sequential("working sets", steps * SCAN_STEPS),
        samples=n,
        parameters=round(wanted.support * n) * (p + 1),
        working_bytes=n * p * 2 * WIDTH + n * 6 * WIDTH + min(wanted.cache_bytes, 4 * n * active_rows),
        assumptions=(
            f"{wanted.iterations_a_sample:g} working sets a sample, {wanted.support:.0%} support vectors",
            "noisy classes or a large C need several times more",
        ),
    )


FAMILIES = (
    Family("svm_linear", "linear support vector machine", LinearSvm, linear),
    Family("svm_rbf", "support vector machine with a radial kernel", RadialSvm, radial),
)
