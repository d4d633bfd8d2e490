"""Rows that train a multi-layer perceptron, told layer by layer."""

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
    kept = _kept_a_neuron(configuration)
    norm = 2 if configuration.number("batchnorm_layers") else 0
    inputs = [int(entering), *widths[:-1]]
    last = len(widths) - 1
    blocks = [
        _layer(before, after, norm=norm if at < last else 0, kept=kept if at < last else 1.0)
        for at, (before, after) in enumerate(zip(inputs, widths, strict=True))
    ]
    blocks[0:0] = [Block("input", 1, 0, (), kept_elements=entering)]
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


def _layer(before: int, after: int, *, norm: int, kept: float) -> Block:
    return Block("layer", 1, after * (before + 1 + norm), (), kept_elements=kept * after)


def _kept_a_neuron(configuration: Configuration) -> float:
    """What enters norm and activation, what leaves it, and what leaves dropout."""
    activated = 0.0 if configuration["activation"] == "Identity" else 1.0
    norm = 1.0 if configuration.number("batchnorm_layers") else 0.0
    dropout = DROPOUT_NUMBERS if configuration.number("dropout_layers") else 0.0
    return 1.0 + activated + norm + dropout
