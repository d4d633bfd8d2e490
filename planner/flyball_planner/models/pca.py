"""Principal components by full decomposition, by the covariance, or by random projections."""

from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from flyball_planner.models.classical import (
    NUMBER_BYTES,
    DataFormat,
    classical_cost,
    matrix_product,
    panels,
    prediction,
    stream,
)
from flyball_planner.models.complexity import COVARIANCE_PCA, FULL_PCA, RANDOMIZED_PCA
from flyball_planner.models.cost import ModelCost, Operator
from flyball_planner.models.family import ModelFamily
from flyball_planner.models.specification import Count, ModelSpecification, UnfitKey

# additional directions of the randomised solver (Halko et al., arXiv 0909.4061; scikit-learn's default)
OVERSAMPLING = 10
POWER_ITERATIONS = 7  # scikit-learn's default for few components; otherwise 4
FEW = 0.1  # share of the smaller side
SVD_FACTOR = 4.0  # gesdd through QR: 2np² twice, and about 22p³ for the small problem (Golub and Van Loan, 8.6)
SMALL_SVD_FACTOR = 22.0
EIGEN_FACTOR = 9.0  # syevd with vectors, times p³ (LAPACK working note 183)


class Pca(ModelSpecification, frozen=True, kw_only=True):
    """Keys of PCA."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features per sample")]
    k: Annotated[Count, Meta(description="number of components")] = 10
    solver: Annotated[Literal["full", "covariance", "randomized"], Meta(description="algorithm")] = "randomized"
    precision: Annotated[DataFormat, Meta(description="format of the data")] = "fp64"


NAMES = {
    "full": "LAPACK gesdd (full SVD)",
    "covariance": "covariance and LAPACK syevd",
    "randomized": "randomised SVD (Halko), BLAS gemm and LAPACK",
}

GROWTH = {"full": FULL_PCA, "covariance": COVARIANCE_PCA, "randomized": RANDOMIZED_PCA}


def pca(wanted: Pca) -> ModelCost:
    """Return the cost of the chosen solver on centred data."""
    if wanted.k > min(wanted.n, wanted.p):
        raise UnfitKey("pca_svd", "k", f"there are no {wanted.k} components", expected="at most the smaller of n and p")
    n, p, width = wanted.n, wanted.p, NUMBER_BYTES[wanted.precision]
    copies = {"full": 3, "covariance": 1, "randomized": 2}[wanted.solver]
    return classical_cost(
        "pca_svd",
        f"scikit-learn PCA, {NAMES[wanted.solver]}",
        stream("centre", 3 * width * p),
        *_solver(wanted, width),
        samples=n,
        parameters=(wanted.k + 1) * p,
        working_bytes=width * (copies * n * p + 3 * min(n, p) ** 2 * (wanted.solver != "randomized")),
        precision=wanted.precision,
        complexity=GROWTH[wanted.solver],
        inference=prediction(width, p, wanted.k),
    )


def _solver(wanted: Pca, width: int) -> tuple[Operator, ...]:
    n, p = wanted.n, wanted.p
    small = min(n, p)
    if wanted.solver == "full":
        flops = SVD_FACTOR * p * small + SMALL_SVD_FACTOR * small**3 / n
        factorised = panels(p, width)
        return matrix_product("SVD", flops, 6 * width * p, 1, p, small), factorised, replace(factorised, name="vectors")
    if wanted.solver == "covariance":
        covariance = matrix_product("covariance", p * (p + 1.0), width * p, 1, p, p)
        return covariance, matrix_product("eigenvectors", EIGEN_FACTOR * p**3 / n, width * p**2 / n, p / n, p, p)
    directions = wanted.k + OVERSAMPLING
    powers = POWER_ITERATIONS if wanted.k < FEW * small else 4
    products = 2 * powers + 2
    projections = matrix_product(
        "projections", products * 2.0 * p * directions, products * width * (p + directions), 1, p, directions
    )
    factorisations = 2 * powers + 1  # LU or QR of the projections
    return projections, matrix_product(
        "orthogonalisations",
        factorisations * 2.0 * directions**2,
        factorisations * 2 * width * directions,
        1,
        directions,
        directions,
    )


FAMILIES = (ModelFamily("pca_svd", "principal components", Pca, pca),)
