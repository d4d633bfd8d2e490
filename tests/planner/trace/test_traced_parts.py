"""Tests of combining traced parts of a module into blocks."""

import pytest

from flyball_planner.models.cost import Operator, OperatorKind
from flyball_planner.trace.traced_parts import TracedPart, cost_of, part_names

PRODUCT = Operator("mm", OperatorKind.MATMUL, 200.0, 10.0, rows=1, inner=10, columns=10)


def part(path: str, parameters: int = 100) -> TracedPart:
    """Return a part with one product."""
    return TracedPart(path, parameters, (PRODUCT,), kept_elements=10.0, boundary_elements=5.0)


def test_equal_layers_become_one_block() -> None:
    """Equal layers of a list become one repeated block; a layer of another width is a separate block."""
    layers = [part(f"layers.{at}") for at in range(4)]
    cost = cost_of([part("in"), *layers, part("layers.4", 300)], model="m", implementation="")
    assert [(block.name, block.repeats) for block in cost.blocks] == [("in", 1), ("layers", 4), ("layers.4", 1)]
    assert cost.parameters == 100 + 4 * 100 + 300
    assert cost.forward_flops == 6 * 200.0


def test_layers_of_two_lists_are_separate_blocks() -> None:
    """Equal layers of an encoder and a decoder are separate blocks."""
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
    """The first number in a path gives the layer; modules outside of layers are separate parts."""
    known = ("model", "model.layers.3", "model.layers.3.mlp.up", "model.norm", "head", "head.dense", "0")
    assert part_names(known)[path] == belongs_to
