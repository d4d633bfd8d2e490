"""The common parts of classical models: data in memory, and work that is not a sequence of gradient steps.

Operators are per sample and pass; work that does not grow with the samples is divided among them. FLOPs are elementary
steps if nothing is multiplied. `rows`×`inner`×`columns` is the shape of a product; for scattered steps, `inner` is the
size in bytes of the data that they access.
"""

from typing import Literal

from flyball_planner.models.complexity import Complexity
from flyball_planner.models.cost import ModelBlock, ModelCost, Operator, OperatorKind

FAMILY = "classical"
PANEL_COLUMNS = 32  # per panel of a Householder factorisation (LAPACK's ilaenv), which is read for each column
STEPS_A_SECOND = 2.5e9  # per core for dependent steps: about one per cycle
DataFormat = Literal["fp64", "fp32"]
NUMBER_BYTES: dict[str, int] = {"fp64": 8, "fp32": 4}


def matrix_product(name: str, flops: float, moved_bytes: float, rows: float, inner: float, columns: float) -> Operator:
    """Return work that BLAS distributes over all cores."""
    return Operator(name, OperatorKind.MATMUL, flops, moved_bytes, rows, inner, columns, backward=0.0)


def stream(name: str, moved_bytes: float) -> Operator:
    """Return a pass over memory by all cores."""
    return Operator(name, OperatorKind.ELEMENTWISE, 0.0, moved_bytes, backward=0.0)


def panels(features: int, width: int) -> Operator:
    """Return the additional work of a factorisation: each column of a panel reads the panel."""
    return stream("panels", float(width * PANEL_COLUMNS * features))


def sequential(name: str, steps: float) -> Operator:
    """Return work of a single core with dependent steps."""
    return Operator(name, OperatorKind.SEQUENTIAL, steps, 0.0, backward=0.0)


def scattered(name: str, steps: float, over_bytes: float, moved_bytes: float = 0.0) -> Operator:
    """Return steps of all cores, each of which accesses a random place."""
    return Operator(name, OperatorKind.GATHER, steps, moved_bytes, inner=over_bytes, backward=0.0)


def prediction(width: int, inner: float, columns: float = 1.0) -> tuple[Operator, ...]:
    """Return the product of one sample with the weights that predict it."""
    return (matrix_product("prediction", 2.0 * inner * columns, width * (inner + columns), 1, inner, columns),)


def descent(comparisons: float, over_bytes: float) -> tuple[Operator, ...]:
    """Return the comparisons of one sample on its way through trees of this size."""
    return (scattered("descent", comparisons, over_bytes=over_bytes),)


def classical_cost(
    model: str,
    implementation: str,
    *operators: Operator,
    samples: int,
    parameters: int,
    working_bytes: float,
    passes: float = 1.0,
    precision: str = "fp64",
    assumptions: tuple[str, ...] = (),
    complexity: Complexity | None = None,
    inference: tuple[Operator, ...] = (),
    inference_calls: int = 1,
) -> ModelCost:
    """Return a model with one block; `working_bytes` is the peak memory including the data."""
    return ModelCost(
        model=model,
        family=FAMILY,
        implementation=implementation,
        parameters=parameters,
        samples=samples,
        passes=passes,
        blocks=(ModelBlock(model, 1, parameters, operators, kept_elements=0.0),),
        working_bytes=working_bytes,
        trained_by_gradient=False,
        assumptions=assumptions,
        batch=samples,
        precision=precision,
        complexity=complexity,
        inference=inference,
        inference_calls=inference_calls,
    )
