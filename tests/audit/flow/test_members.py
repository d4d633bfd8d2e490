"""What an attribute is follows from what holds it."""

import pytest

from flyball_audit.flow.values import (
    LOSS,
    MODEL,
    ON_CPU,
    ON_DEVICE,
    ON_HOST,
    OUTPUT,
    PARAMETER,
    UNKNOWN,
    Tag,
    Value,
)
from tests.audit.projects import given

PREAMBLE = """
import deepspeed
import torch
import torch.nn as nn
from accelerate import Accelerator
from elsewhere import Holder
from torch.utils.data import DataLoader

class Own(nn.Module):
    def __init__(self):
        self.kept = torch.zeros(3)

class Plain:
    def __init__(self):
        self.kept = torch.zeros(3)

def run(what):
    here = torch.zeros(3, device="cuda")
    there = torch.zeros(3)
    model = nn.Linear(3, 3)
    own = Own()
    plain = Plain()
    accelerator = Accelerator()
    loader = DataLoader(what)
    output = model(here)
    moved = Holder(what, 3).cuda()
    engine, _, _, _ = deepspeed.initialize(what)
    optimizer = torch.optim.Adam(what)
    settings = Holder(rate=here)
    found = {code}
"""


def _given(code: str) -> Value:
    return given(PREAMBLE, code)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("here.shape", ON_HOST),
        ("here.T", ON_DEVICE),
        ("there.T", ON_CPU),
        ("here.grad", ON_DEVICE.tagged(Tag.GRADIENT)),
        ("there.grad", UNKNOWN),
        ("model.weight.data", PARAMETER),
        ("model.weight.T", PARAMETER.without(Tag.PARAMETER)),
        ("output.data", OUTPUT.without(Tag.GRAPH)),
        ("output.loss", LOSS),
        ("output.rpn_loss", LOSS),
        ("here.rpn_loss", ON_DEVICE.tagged(Tag.SUPPOSED)),
        ("output.data.loss", LOSS.without(Tag.GRAPH)),
        ("output.layout", OUTPUT.tagged(Tag.SUPPOSED)),
        ("here.names", ON_HOST),
        ("output.logits", OUTPUT.tagged(Tag.SUPPOSED)),
    ],
)
def test_a_tensors_attribute_is_known_on_the_host_or_lies_where_it_does(code: str, value: Value) -> None:
    """Shapes cost nothing, gradients and parts of an output lie with it, and losses of an output are losses."""
    assert _given(code) == value


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("model.weight", PARAMETER),
        ("model.module", MODEL),
        ("model.training", ON_HOST),
        ("model.config", UNKNOWN),
        ("model.elsewhere", UNKNOWN),
        ("own.kept", ON_CPU),
        ("plain.kept", ON_CPU),
        ("plain.elsewhere", UNKNOWN),
    ],
)
def test_a_models_attribute_is_a_parameter_a_part_or_what_was_stored(code: str, value: Value) -> None:
    """What a class of the project stores comes first; then what every module has."""
    assert _given(code) == value


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("loader.dataset", Value(frozenset({Tag.DATASET}))),
        ("loader.sampler", UNKNOWN),
        ("accelerator.device", ON_HOST),
        ("here.item().real", ON_HOST),
        ("engine.optimizer", Value(frozenset({Tag.OPTIMIZER}))),
        ("optimizer.state", UNKNOWN),
        ("optimizer.param_groups[0]['params'][0]", PARAMETER),
        ("optimizer.param_groups[0]['lr']", ON_HOST),
        ("settings.rate", ON_DEVICE),
        ("moved.count", UNKNOWN),
        ("what.anything", UNKNOWN),
    ],
)
def test_things_of_training_hold_what_they_always_hold(code: str, value: Value) -> None:
    """A loader its data set, an optimizer its parameters, an object of a library what it was made with."""
    assert _given(code) == value


def test_an_attribute_of_a_library_is_named() -> None:
    """`torch.float16` has no value but a full name."""
    assert _given("torch.float16").name == "torch.float16"
