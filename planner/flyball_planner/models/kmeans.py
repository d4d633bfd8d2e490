"""k-means by Lloyd's algorithm."""

from typing import Annotated

from msgspec import Meta

from flyball_planner.models.classical import (
    NUMBER_BYTES,
    DataFormat,
    classical_cost,
    matrix_product,
    prediction,
    stream,
)
from flyball_planner.models.complexity import KMEANS
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import ModelFamily
from flyball_planner.models.specification import Count, ModelSpecification


class KMeans(ModelSpecification, frozen=True, kw_only=True):
    """Keys of k-means."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features per sample")]
    k: Annotated[Count, Meta(description="clusters")] = 8
    iterations: Annotated[Count, Meta(description="Lloyd iterations until convergence")] = 50
    restarts: Annotated[Count, Meta(description="number of starts; the best result counts")] = 1
    precision: Annotated[DataFormat, Meta(description="format of the data")] = "fp64"


def lloyd(wanted: KMeans) -> ModelCost:
    """Return the cost: distances as products in cache-sized chunks, the nearest centre, and new centres."""
    n, p, k, width = wanted.n, wanted.p, wanted.k, NUMBER_BYTES[wanted.precision]
    return classical_cost(
        "kmeans",
        "scikit-learn KMeans (Lloyd, BLAS gemm, k-means++)",
        matrix_product("distances", 2.0 * k * p, width * (p + k), 1, p, k),
        stream("nearest centre", width * (k + 2 * p)),
        samples=n,
        passes=(wanted.iterations + 1) * wanted.restarts,  # k-means++ costs about as much as one iteration
        parameters=k * p,
        working_bytes=width * (2 * n * p + 4 * n + 3 * k * p),
        precision=wanted.precision,
        assumptions=(f"{wanted.iterations} iterations; well-separated clusters need fewer",),
        complexity=KMEANS,
        inference=prediction(width, p, k),
    )


FAMILIES = (ModelFamily("kmeans", "k-means clustering", KMeans, lloyd),)
