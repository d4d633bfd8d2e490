"""What all classical models have in common: data in memory, and work that no gradient step describes.

Operators are those of one sample and one pass; work that does not grow with the samples is divided among them. Their
FLOPs are elementary steps where nothing is multiplied. `rows`×`inner`×`columns` is the shape of a product; of
scattered steps `inner` is the size in bytes of what they are scattered over.
"""

from typing import Literal

from flyball_planner.models.cost import Block, ModelCost, Operator, OperatorKind

FAMILY = "classical"
PANEL_COLUMNS = 32  # that a Householder factorisation takes at once (LAPACK's ilaenv), walking over them for each
STEPS_A_SECOND = 2.5e9  # of one core, where steps follow each other: about one a cycle
NumberFormat = Literal["fp64", "fp32"]
NUMBER_BYTES: dict[str, int] = {"fp64": 8, "fp32": 4}


def matrix_product(name: str, flops: float, moved_bytes: float, rows: float, inner: float, columns: float) -> Operator:
    """Work that BLAS spreads over all cores."""
    return Operator(name, OperatorKind.MATMUL, flops, moved_bytes, rows, inner, columns, backward=0.0)


def stream(name: str, moved_bytes: float) -> Operator:
    """A pass over memory by all cores."""
    return Operator(name, OperatorKind.ELEMENTWISE, 0.0, moved_bytes, backward=0.0)


def panels(features: int, width: int) -> Operator:
    """What a factorisation adds to its products: each column of a panel is a walk over the panel."""
    return stream("panels", float(width * PANEL_COLUMNS * features))


def sequential(name: str, steps: float) -> Operator:
    """Work of a single core, one step after the other."""
    return Operator(name, OperatorKind.SEQUENTIAL, steps, 0.0, backward=0.0)


def scattered(name: str, steps: float, over_bytes: float, moved_bytes: float = 0.0) -> Operator:
    """Steps of all cores that each touch another place of something."""
    return Operator(name, OperatorKind.GATHER, steps, moved_bytes, inner=over_bytes, backward=0.0)


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
) -> ModelCost:
    """A model of one block; `working_bytes` is all that lies in memory at the peak, the data included."""
    return ModelCost(
        model=model,
        family=FAMILY,
        implementation=implementation,
        parameters=parameters,
        samples=samples,
        passes=passes,
        blocks=(Block(model, 1, parameters, operators, kept_elements=0.0),),
        working_bytes=working_bytes,
        trained_by_gradient=False,
        assumptions=assumptions,
        batch=samples,
        precision=precision,
    )
