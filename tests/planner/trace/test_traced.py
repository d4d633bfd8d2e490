"""Blocks made from the parts of a traced module."""

import pytest

from flyball_planner.models.cost import Operator, OperatorKind
from flyball_planner.trace.traced import Part, cost_of, part_names

PRODUCT = Operator("mm", OperatorKind.MATMUL, 200.0, 10.0, rows=1, inner=10, columns=10)


def part(path: str, parameters: int = 100) -> Part:
    """A part with one product."""
    return Part(path, parameters, (PRODUCT,), kept_elements=10.0, boundary_elements=5.0)


def test_alike_layers_become_one_block() -> None:
    """Layers of a list that do the same are one block, repeated; another width stands alone."""
    layers = [part(f"layers.{at}") for at in range(4)]
    cost = cost_of([part("in"), *layers, part("layers.4", 300)], model="m", implementation="")
    assert [(block.name, block.repeats) for block in cost.blocks] == [("in", 1), ("layers", 4), ("layers.4", 1)]
    assert cost.parameters == 100 + 4 * 100 + 300
    assert cost.forward_flops == 6 * 200.0


def test_layers_of_two_lists_stay_apart() -> None:
    """An encoder's layer is no decoder's, though both are alike."""
    cost = cost_of([part("encoder.0"), part("encoder.1"), part("decoder.0")], model="m", implementation="")
    assert [block.name for block in cost.blocks] == ["encoder", "decoder.0"]


@pytest.mark.parametrize(
    ("path", "belongs_to"),
    [
        ("model.layers.3.mlp.up", "model.layers.3"),
        ("model.layers.3", "model.layers.3"),
        ("model.norm", "model.norm"),
        ("model", "model"),
        ("head.dense", "head"),
        ("0", "0"),
    ],
)
def test_a_submodule_belongs_to_its_numbered_layer(path: str, belongs_to: str) -> None:
    """The first number in a path tells the layer; what stands beside layers is a part of its own."""
    known = ("model", "model.layers.3", "model.layers.3.mlp.up", "model.norm", "head", "head.dense", "0")
    assert part_names(known)[path] == belongs_to
