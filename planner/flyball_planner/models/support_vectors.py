"""Support vector machines: linear by Newton steps, with a radial kernel by sequential minimal optimisation."""

from typing import Annotated

from msgspec import Meta

from flyball_planner.models.classical import NUMBER_BYTES, classical_cost, prediction, sequential
from flyball_planner.models.complexity import LINEAR_SVM, RADIAL_SVM
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import ModelFamily
from flyball_planner.models.specification import Count, ModelSpecification, Share

WIDTH = NUMBER_BYTES["fp64"]  # LIBLINEAR and LIBSVM support no other
SPARSE_BYTES = 16  # a feature_node: index and value, padded
STEPS_A_FEATURE = (
    28.0  # several conjugate gradients per Newton step, each over the data twice: 11 ns (scikit-learn 1.9)
)
STEPS_A_SAMPLE = 560.0  # 220 ns per sample
KERNEL_STEPS = 30.0  # one exponential and its call, in addition to the features
PREDICTED_STEPS = 5.0  # per feature of a support vector: 114 ns for 50 features (scikit-learn 1.9, LIBSVM)
SCAN_STEPS = 3.0  # selecting a working set reads gradient, state and kernel row of every sample


class LinearSvm(ModelSpecification, frozen=True, kw_only=True):
    """Keys of the linear machine."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features per sample")]
    iterations: Annotated[Count, Meta(description="Newton steps until convergence")] = 10


class RadialSvm(ModelSpecification, frozen=True, kw_only=True):
    """Keys of the machine with a radial kernel."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features per sample")]
    support: Annotated[Share, Meta(description="share of samples that become support vectors")] = 0.3
    iterations_a_sample: Annotated[float, Meta(gt=0, description="optimised working sets divided by n")] = 0.7
    cache_bytes: Annotated[Count, Meta(description="size of the kernel cache")] = 200_000_000


def linear(wanted: LinearSvm) -> ModelCost:
    """Return the cost of trust-region Newton steps on the primal problem, scikit-learn's choice for many samples."""
    n, p = wanted.n, wanted.p
    return classical_cost(
        "svm_linear",
        "LIBLINEAR (trust-region Newton, one core)",
        sequential("conjugate gradients", STEPS_A_FEATURE * p + STEPS_A_SAMPLE),
        samples=n,
        passes=wanted.iterations,
        parameters=p + 1,
        working_bytes=n * p * (WIDTH + SPARSE_BYTES) + n * 3 * WIDTH,
        assumptions=(f"{wanted.iterations} Newton steps; unscaled data need several times as many",),
        complexity=LINEAR_SVM,
        inference=prediction(WIDTH, p),
    )


def radial(wanted: RadialSvm) -> ModelCost:
    """Return the cost of steps that need two rows of the kernel matrix, which are recomputed if not in the cache."""
    n, p = wanted.n, wanted.p
    steps = max(1.0, wanted.iterations_a_sample * n)
    active_rows = max(1.0, 2 * wanted.support * n)  # rows of the samples that are ever selected
    cached_rows = wanted.cache_bytes / (4 * n)  # in single precision (LIBSVM)
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
            f"{wanted.iterations_a_sample:g} working sets per sample, {100 * wanted.support:.0f} % support vectors",
            "noisy classes or a large C need several times as many",
        ),
        complexity=RADIAL_SVM,
        inference=(sequential("kernel row", max(1.0, wanted.support * n) * (PREDICTED_STEPS * p + KERNEL_STEPS)),),
    )


FAMILIES = (
    ModelFamily("svm_linear", "linear support vector machine", LinearSvm, linear),
    ModelFamily("svm_rbf", "support vector machine with a radial kernel", RadialSvm, radial),
)
