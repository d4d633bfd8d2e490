"""Linear regression, solved by the normal equations or by a QR factorisation."""

from typing import Annotated

from msgspec import Meta

from flyball_planner.models.classical import (
    NUMBER_BYTES,
    DataFormat,
    classical_cost,
    matrix_product,
    panels,
    prediction,
    stream,
)
from flyball_planner.models.complexity import NORMAL_EQUATIONS, QR
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import ModelFamily
from flyball_planner.models.specification import Count, ModelSpecification


class LinearRegression(ModelSpecification, frozen=True, kw_only=True):
    """Keys of both solvers."""

    n: Annotated[Count, Meta(description="samples")]
    p: Annotated[Count, Meta(description="features per sample")]
    d_out: Annotated[Count, Meta(description="targets per sample")] = 1
    precision: Annotated[DataFormat, Meta(description="format of the data")] = "fp64"


def normal_equations(wanted: LinearRegression) -> ModelCost:
    """Return the cost of one symmetric product over all samples and a Cholesky factorisation of p×p."""
    n, p, width = wanted.n, wanted.p, NUMBER_BYTES[wanted.precision]
    return classical_cost(
        "linear_regression_normal",
        "normal equations: BLAS syrk, LAPACK potrf",
        matrix_product("Gram matrix", p * (p + 1.0), width * p, 1, p, p),
        matrix_product("targets", 2.0 * p * wanted.d_out, width * (p + wanted.d_out), 1, p, wanted.d_out),
        matrix_product("Cholesky", p**3 / 3 / n, width * p**2 / n, p / n, p, p),
        samples=n,
        parameters=(p + 1) * wanted.d_out,
        working_bytes=width * (n * (p + wanted.d_out) + 2 * p**2),
        precision=wanted.precision,
        assumptions=(
            "the data is centred in place instead of adding a column of ones",
            "with ill-conditioned data, the result has only half of the digits",
        ),
        complexity=NORMAL_EQUATIONS,
        inference=prediction(width, p, wanted.d_out),
    )


def qr(wanted: LinearRegression) -> ModelCost:
    """Return the cost of Householder reflections over a copy of the complete matrix."""
    n, p, width = wanted.n, wanted.p, NUMBER_BYTES[wanted.precision]
    return classical_cost(
        "linear_regression_qr",
        "LAPACK geqrf (Householder QR), ormqr, trtrs",
        matrix_product("QR", max(2.0 * p**2 - 2 * p**3 / 3 / n, p**2), 2 * width * p, 1, p, p),
        matrix_product("targets", 4.0 * p * wanted.d_out, width * (p + wanted.d_out), 1, p, wanted.d_out),
        stream("copies", 4 * width * p),
        panels(p, width),
        samples=n,
        parameters=(p + 1) * wanted.d_out,
        working_bytes=width * (2 * n * p + 2 * n * wanted.d_out + p**2),
        precision=wanted.precision,
        assumptions=("the factorisation works on a copy of the data, column by column",),
        complexity=QR,
        inference=prediction(width, p, wanted.d_out),
    )


FAMILIES = (
    ModelFamily(
        "linear_regression_normal", "linear regression by normal equations", LinearRegression, normal_equations
    ),
    ModelFamily("linear_regression_qr", "linear regression by a QR factorisation", LinearRegression, qr),
)
