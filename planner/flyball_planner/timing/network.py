"""The work of a model described by its operators: image networks and all others that are copied, not split."""

from collections.abc import Sequence

import numpy as np

from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.layouts.layout import Layouts
from flyball_planner.models.cost import ModelCost, Operator, OperatorKind
from flyball_planner.precision import WIDTHS_BYTES, NumberFormat
from flyball_planner.timing.best_rates import best_rate
from flyball_planner.timing.host_work import launch_share
from flyball_planner.timing.products import CONVOLVED, FINE_TILE, PLAIN, TILE, Products, Table, block_edge
from flyball_planner.timing.traffic import COMPILED_LAUNCHES, COMPILED_PASSES
from flyball_planner.timing.transformer import BATCHED_BACKWARD
from flyball_planner.timing.work import BATCHED, Pass
from flyball_planner.training import Training

USUAL_HEAD = 64.0  # width of a head in image networks with attention
TENSORS_A_PRODUCT = 2.0  # weights and a bias, or the scale and shift of a norm
CONVERTED_PASSES = 1.0
"""Passes over inputs and outputs of convolutions with channels first: NVIDIA's matrix units take channels last, so
cuDNN converts some of them in 16 bits (NVIDIA, "Tips for Optimizing GPU Performance Using Tensor Cores")."""
COUNTED_BYTES = 2.0  # per number in a network's `Operator.moved_bytes`

Repeated = tuple[Operator, float]


def forward_pass(model: ModelCost, training: Training, layouts: Layouts, device: ComputeDevice) -> Pass:
    """Return all operators of one micro-batch."""
    operators = [(operator, operator.times * block.repeats) for block in model.blocks for operator in block.operators]
    products = [each for each in operators if _is_product(each[0])]
    others = [each for each in operators if not _is_product(each[0])]
    attending = [each for each in others if each[0].kind is OperatorKind.ATTENTION]
    nothing, compute = np.zeros(len(layouts)), training.precision.compute
    rate = best_rate(device, compute)
    width = WIDTHS_BYTES[training.precision.activations] / COUNTED_BYTES if model.trained_by_gradient else 1.0
    moved = sum(each.moved_bytes * times for each, times in others) * (COMPILED_PASSES if training.compiled else 1.0)
    if model.channels_first and WIDTHS_BYTES[compute] < WIDTHS_BYTES[NumberFormat.FP32]:
        moved += CONVERTED_PASSES * sum(each.moved_bytes * times for each, times in products if _is_converted(each))
    calls = sum(times for _, times in operators) * (COMPILED_LAUNCHES if training.compiled else 1.0)
    return Pass(
        products=_products(products, layouts, rate, width, block_edge(device, compute)),
        attention_flops=nothing + layouts.micro_batch * sum(each.flops * times for each, times in attending),
        attention_rate=nothing + rate * USUAL_HEAD / TILE,
        attention_backward=nothing + BATCHED_BACKWARD,
        attention_kind=nothing + BATCHED,
        score_bytes=nothing,
        moved_bytes=nothing + layouts.micro_batch * width * moved,
        softmax_bytes=nothing,
        copied_bytes=nothing,
        cast_bytes=nothing,
        launches=nothing + calls * launch_share(device),
    )


def tensors(model: ModelCost) -> float:
    """Return about how many tensors an optimizer updates: two for each product."""
    return TENSORS_A_PRODUCT * sum(
        operator.times * block.repeats
        for block in model.blocks
        for operator in block.operators
        if _is_product(operator)
    )


def no_pass(layouts: Layouts) -> Pass:
    """Return a pass without work."""
    nothing = np.zeros(len(layouts))
    return Pass(
        products=Products.none(len(layouts)),
        attention_flops=nothing,
        attention_rate=nothing + 1,
        attention_backward=nothing,
        attention_kind=nothing,
        score_bytes=nothing,
        moved_bytes=nothing,
        softmax_bytes=nothing,
        copied_bytes=nothing,
        cast_bytes=nothing,
        launches=nothing,
    )


def _is_product(operator: Operator) -> bool:
    return operator.kind in {OperatorKind.MATMUL, OperatorKind.CONVOLUTION} and operator.rows > 0


def _is_converted(operator: Operator) -> bool:
    """Return True for convolutions that matrix units compute: all but depthwise ones."""
    return operator.kind is OperatorKind.CONVOLUTION and operator.columns > 1


def _products(operators: Sequence[Repeated], layouts: Layouts, rate: float, width: float, block: float) -> Products:
    if not operators:
        return Products.none(len(layouts))
    steps = [each for each, _ in operators]
    convolved = np.array([each.kind is OperatorKind.CONVOLUTION for each in steps])[:, None]
    first, place = layouts.distinct("micro_batch")
    ones = np.ones((len(steps), len(first)))
    samples = layouts.micro_batch[None, first]

    def column(values: Sequence[float]) -> Table:
        table: Table = np.array(values)[:, None] * ones
        return table

    weights = column([each.inner * each.columns for each in steps])
    return Products(
        rows=column([each.rows for each in steps]) * samples,
        inner=column([each.inner for each in steps]),
        columns=column([each.columns for each in steps]),
        count=column([times for _, times in operators]),
        together=ones,
        rate=rate * ones,
        trained=ones * column([float(each.backward > 0) for each in steps]),
        kind=np.where(convolved, CONVOLVED, PLAIN) * ones,
        tile=np.where(convolved, FINE_TILE, TILE) * ones,
        block=block * ones,
        moved=width * (column([each.moved_bytes for each in steps]) * samples + COUNTED_BYTES * weights),
        place=place,
    )
