"""Rows that train a multi-layer perceptron described layer by layer."""

from collections.abc import Iterator

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.vocabulary import count
from flyball_planner.accuracy.tables import RowConfiguration
from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.models.cost import ModelBlock, ModelCost
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.training import Training

DROPOUT_NUMBERS = 1.25  # the output, and a mask of one byte per number of four bytes


def perceptron(configuration: RowConfiguration) -> ModelCost:
    """Return the network of a row."""
    widths = [int(each) for each in configuration["layer_out_features"].split()]
    entering = configuration.number("input")
    if not widths or entering is None:
        raise Unsuited("the row has no layers")
    blocks: list[ModelBlock] = []  # none for the batch itself, which exists before the peak
    for at, (before, after) in enumerate(zip([int(entering), *widths[:-1]], widths, strict=True)):
        blocks.append(ModelBlock("product", 1, after * (before + 1), (), kept_elements=after))
        if at < len(widths) - 1:
            blocks += _after_product(configuration, after)
    return ModelCost(
        model="mlp",
        family="mlp",
        implementation="PyTorch nn.Linear",
        parameters=sum(block.parameters for block in blocks),
        samples=0,
        passes=1.0,
        blocks=tuple(blocks),
    )


def perceptron_training(configuration: RowConfiguration) -> Training:
    """Return the training of a row."""
    optimizer, precision = configuration["optimizer"], configuration["precision"]
    if not optimizer or precision not in PRECISIONS:
        raise Unsuited(f"the row has no optimizer, or its precision {precision!r} is not understood")
    return Training(1, count(configuration, "batch"), find_optimizer(optimizer), PRECISIONS[precision])


def perceptron_layout(configuration: RowConfiguration) -> ParallelLayout:
    """Return one device with the complete batch."""
    return ParallelLayout(micro_batch=count(configuration, "batch"))


def _after_product(configuration: RowConfiguration, width: int) -> Iterator[ModelBlock]:
    """Yield the outputs of norm, activation and dropout, each stored for its backward pass."""
    if configuration.number("batchnorm_layers"):
        yield ModelBlock("norm", 1, 2 * width, (), kept_elements=width)
    if configuration["activation"] != "Identity":
        yield ModelBlock("activation", 1, 0, (), kept_elements=width)
    if configuration.number("dropout_layers"):
        yield ModelBlock("dropout", 1, 0, (), kept_elements=DROPOUT_NUMBERS * width)
