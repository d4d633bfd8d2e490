"""What methods give follows from what they are called on."""

import pytest

from flyball_audit.flow.values import (
    MODEL,
    NORM,
    ON_CPU,
    ON_DEVICE,
    ON_HOST,
    OUTPUT,
    PARAMETER,
    UNKNOWN,
    Tag,
    Tags,
    Value,
)
from tests.audit.projects import given, module_of, value_of

PREAMBLE = """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from accelerate import Accelerator

class Own(nn.Module):
    def eval(self):
        return 3

def run(what, device, local_rank):
    here = torch.zeros(3, device="cuda")
    there = torch.zeros(3)
    model = nn.Linear(3, 3)
    own = Own()
    accelerator = Accelerator()
    loader = DataLoader(what)
    parts = {{"first": here, "second": there}}
    moved = what.cuda()
    found = {code}
"""


def _given(code: str) -> Value:
    return given(PREAMBLE, code)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("here.item()", ON_HOST),
        ("here.size()", ON_HOST),
        ("here.type()", ON_HOST),
        ("here.type(what)", ON_DEVICE),
        ("here.backward()", ON_HOST),
        ("here.cpu()", ON_CPU),
        ("there.cuda()", ON_DEVICE),
        ("there.to('cuda')", ON_DEVICE),
        ("there.to(device='cuda')", ON_DEVICE),
        ("here.to('cpu')", ON_CPU),
        ("there.to(torch.float16)", ON_CPU),
        ("there.to()", ON_CPU),
        ("here.mean()", ON_DEVICE),
        ("there.add(here)", ON_DEVICE),
        ("here.grad.norm()", ON_DEVICE.tagged(Tag.GRADIENT, Tag.NORM)),
        ("here.norm()", ON_DEVICE),
        ("here.mean().detach()", ON_DEVICE),
        ("model.forward(here).detach()", OUTPUT.without(Tag.GRAPH)),
        ("model.weight.mean()", PARAMETER.without(Tag.PARAMETER)),
    ],
)
def test_a_tensors_method_reads_moves_or_computes(code: str, value: Value) -> None:
    """Readings are the host's, moves end where they say, all else stays where the tensor lies."""
    assert _given(code) == value


def test_a_tensor_that_is_cut_gives_tensors() -> None:
    """`chunk`, `split` and `unbind` give parts of it."""
    assert _given("here.chunk(2)").element == ON_DEVICE
    assert _given("here.view(2)").element is None


@pytest.mark.parametrize(
    ("code", "tags"),
    [
        ("what.cuda()", {Tag.DEVICE}),
        ("what.to(device)", {Tag.DEVICE}),
        ("what.to(local_rank)", {Tag.DEVICE}),
        ("what.to('cuda:0')", {Tag.DEVICE}),
        ("what.to(0)", {Tag.DEVICE}),
        ("what.to(torch.device('cuda'))", {Tag.DEVICE}),
        ("what.to('cpu')", set()),
        ("what.to(None)", set()),
        ("what.to(run)", set()),
        ("what.to()", set()),
        ("what.half()", set()),
    ],
)
def test_what_is_moved_to_a_device_lies_there_whatever_it_is(code: str, tags: Tags) -> None:
    """`.cuda()` and `.to()` of what is a device by its making, its text or its name; nothing else."""
    assert _given(code).tags == tags


@pytest.mark.parametrize(
    ("code", "element"),
    [
        ("parts.items()", Value(items=(ON_HOST, Value(frozenset({Tag.TENSOR, Tag.DEVICE, Tag.CPU}))))),
        ("parts.values()", Value(frozenset({Tag.TENSOR, Tag.DEVICE, Tag.CPU}))),
        ("parts.keys()", ON_HOST),
    ],
)
def test_a_mapping_gives_its_keys_and_values(code: str, element: Value) -> None:
    """Keys are texts of the host; values are what was put in."""
    assert _given(code).element == element


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("parts.get('first')", ON_DEVICE),
        ("parts.pop('second')", ON_CPU),
        ("parts.get(what)", Value(frozenset({Tag.TENSOR, Tag.DEVICE, Tag.CPU}))),
        ("parts.get()", Value(frozenset({Tag.TENSOR, Tag.DEVICE, Tag.CPU}))),
        ("parts.copy().get('first')", ON_DEVICE),
        ("parts.sort()", UNKNOWN),
    ],
)
def test_a_mapping_gives_what_lies_under_a_key(code: str, value: Value) -> None:
    """Under a constant key what was put there; under any other, what may be."""
    assert _given(code) == value


def test_a_batch_of_unknown_kind_may_be_gone_through_as_a_mapping() -> None:
    """What was moved to the device and is no tensor gives values on the device."""
    project, module = module_of(
        "from torch.utils.data import DataLoader\n"
        "for batch in DataLoader(data):\n    for key, each in batch.items():\n        each\n"
    )  # fmt: skip
    assert value_of(project, module, "each").has(Tag.BATCH)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("accelerator.prepare(model)", MODEL),
        ("accelerator.prepare(model, model).index", UNKNOWN),
        ("accelerator.unwrap_model(model)", MODEL),
        ("accelerator.unwrap_model()", UNKNOWN),
        ("accelerator.gather(here)", ON_DEVICE),
        ("accelerator.gather()", UNKNOWN),
        ("accelerator.clip_grad_norm_(what, 1)", NORM),
        ("accelerator.print(here)", UNKNOWN),
    ],
)
def test_an_accelerator_gives_back_what_it_prepares_and_gathers(code: str, value: Value) -> None:
    """What is prepared stays what it was; the norm of clipping lies on the device."""
    assert _given(code) == value


def test_a_prepared_loader_moves_its_batches() -> None:
    """Several things are given back in their order, the loader with batches on the device."""
    prepared = _given("accelerator.prepare(model, loader)").items
    assert prepared is not None
    assert [each.tags for each in prepared] == [{Tag.MODEL}, {Tag.LOADER, Tag.DEVICE}]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("model.parameters()", Value(element=PARAMETER)),
        ("what.parameters()", Value(element=PARAMETER)),
        ("moved.parameters()", Value(element=PARAMETER)),
        ("model.named_parameters()", Value(element=Value(items=(ON_HOST, PARAMETER)))),
        ("model.modules()", Value(element=MODEL)),
        ("model.named_children()", Value(element=Value(items=(ON_HOST, MODEL)))),
        ("model.state_dict()", Value(element=ON_DEVICE)),
        ("model.eval()", MODEL),
        ("model.generate(here)", OUTPUT),
        ("model.score(what)", UNKNOWN),
        ("own.eval()", Value(ON_HOST.tags, literal=None)),
    ],
)
def test_a_models_method_gives_its_parts_itself_or_an_output(code: str, value: Value) -> None:
    """Parameters and modules are gone through; a class's own method of the same name gives what it says."""
    assert _given(code)._replace(literal=None) == value


def test_an_output_that_is_made_without_history_carries_none() -> None:
    """Under `no_grad`, `generate` keeps no graph alive."""
    project, module = module_of(
        "import torch\nmodel = torch.nn.Linear(3, 3)\nwith torch.no_grad():\n    model.generate(x)\n"
    )
    assert value_of(project, module, "model.generate(x)") == OUTPUT.without(Tag.GRAPH)


def test_methods_of_the_hosts_values_are_the_hosts() -> None:
    """A number's method gives no tensor."""
    assert _given("here.item().bit_length()") == ON_HOST
