"""Rows that train a multi-layer perceptron, told layer by layer."""

from collections.abc import Iterator

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.tables import Configuration
from flyball_planner.layouts.columns import Layout
from flyball_planner.models.cost import Block, ModelCost
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.training import Training

DROPOUT_NUMBERS = 1.25  # the dropped numbers, and a mask of one byte for each of four


def perceptron(configuration: Configuration) -> ModelCost:
    """The network of a row."""
    widths = [int(each) for each in configuration["layer_out_features"].split()]
    entering = configuration.number("input")
    if not widths or entering is None:
        raise Unsuited("the row does not tell its layers")
    blocks: list[Block] = []  # none for the batch itself: it is there before the peak and adds nothing to it
    for at, (before, after) in enumerate(zip([int(entering), *widths[:-1]], widths, strict=True)):
        blocks.append(Block("product", 1, after * (before + 1), (), kept_elements=after))
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


def perceptron_training(configuration: Configuration) -> Training:
    """How the row trains."""
    batch = configuration.count("batch", 1)
    optimizer = find_optimizer(configuration["optimizer"] or "adam")
    return Training(1, batch, optimizer, PRECISIONS[configuration["precision"] or "fp32"])


def perceptron_layout(configuration: Configuration) -> Layout:
    """One device that takes the whole batch."""
    return Layout(micro_batch=configuration.count("batch", 1))


def _after_product(configuration: Configuration, width: int) -> Iterator[Block]:
    """What norm, activation and dropout put out, each kept for its backward pass."""
    if configuration.number("batchnorm_layers"):
        yield Block("norm", 1, 2 * width, (), kept_elements=width)
    if configuration["activation"] != "Identity":
        yield Block("activation", 1, 0, (), kept_elements=width)
    if configuration.number("dropout_layers"):
        yield Block("dropout", 1, 0, (), kept_elements=DROPOUT_NUMBERS * width)
