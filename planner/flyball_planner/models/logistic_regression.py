"""Logistic regression by Newton steps or by stochastic gradient descent."""

from typing import Annotated

from msgspec import Meta

from flyball_planner.models.classical import (
    NUMBER_BYTES,
    DataFormat,
    classical_cost,
    matrix_product,
    prediction,
    sequential,
    stream,
)
from flyball_planner.models.complexity import NEWTON, STOCHASTIC
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import ModelFamily
from flyball_planner.models.specification import Count, ModelSpecification

EXPONENTIAL_STEPS = 20.0  # elementary steps of one logistic function
SGD_STEPS_A_FEATURE = 6.0  # margin and update in a loop that also supports sparse data: 2.3 ns (scikit-learn 1.9)
SGD_STEPS_A_SAMPLE = 750.0  # 300 ns for the loss, the learning rate, and accessing the sample


class LogisticNewton(ModelSpecification, frozen=True, kw_only=True):
    """Keys of the second-order solver."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features per sample")]
    iterations: Annotated[Count, Meta(description="Newton steps until convergence")] = 8
    precision: Annotated[DataFormat, Meta(description="format of the data")] = "fp64"


class LogisticSgd(ModelSpecification, frozen=True, kw_only=True):
    """Keys of the stochastic solver."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features per sample")]
    epochs: Annotated[Count, Meta(description="passes over the data")] = 20
    precision: Annotated[DataFormat, Meta(description="format of the data")] = "fp64"


def newton(wanted: LogisticNewton) -> ModelCost:
    """Return the cost of Newton steps: weighting samples, building and solving the Hessian (IRLS)."""
    n, p, width = wanted.n, wanted.p, NUMBER_BYTES[wanted.precision]
    return classical_cost(
        "logistic_regression_newton",
        "Newton (IRLS) as in scikit-learn's newton-cholesky: BLAS gemm, LAPACK potrf",
        matrix_product("margins and gradient", 4.0 * p, 2 * width * p, 1, p, 1),
        stream("weighted copy", 2 * width * p),
        matrix_product("Hessian", 2.0 * p**2, 2 * width * p, 1, p, p),
        matrix_product("Cholesky", p**3 / 3 / n, width * p**2 / n, p / n, p, p),
        stream("logistic function", 6 * width),
        samples=n,
        passes=wanted.iterations,
        parameters=p + 1,
        working_bytes=width * (2 * n * p + 6 * n + 2 * p**2),
        precision=wanted.precision,
        assumptions=(f"{wanted.iterations} Newton steps", "the Hessian is built from a weighted copy of the data"),
        complexity=NEWTON,
        inference=prediction(width, p),
    )


def stochastic(wanted: LogisticSgd) -> ModelCost:
    """Return the cost of processing the samples sequentially on one core."""
    n, p, width = wanted.n, wanted.p, NUMBER_BYTES[wanted.precision]
    return classical_cost(
        "logistic_regression_sgd",
        "scikit-learn SGDClassifier (one core)",
        sequential("margin and update", SGD_STEPS_A_FEATURE * p + SGD_STEPS_A_SAMPLE + EXPONENTIAL_STEPS),
        samples=n,
        passes=wanted.epochs,
        parameters=p + 1,
        working_bytes=width * (n * p + n + 4 * p),
        precision=wanted.precision,
        assumptions=(f"{wanted.epochs} epochs; it may converge earlier",),
        complexity=STOCHASTIC,
        inference=prediction(width, p),
    )


FAMILIES = (
    ModelFamily("logistic_regression_newton", "logistic regression by Newton steps", LogisticNewton, newton),
    ModelFamily(
        "logistic_regression_sgd", "logistic regression by stochastic gradient descent", LogisticSgd, stochastic
    ),
)
