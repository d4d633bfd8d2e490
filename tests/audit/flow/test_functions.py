"""What functions and classes of libraries give follows from their names and from what they are handed."""

import pytest

from flyball_audit.flow.values import (
    LOSS,
    MODEL,
    ON_CPU,
    ON_DEVICE,
    ON_HOST,
    TENSOR,
    UNKNOWN,
    Literal,
    Tag,
    Value,
)
from tests.audit.projects import given, module_of, project_of, value_of

THREE = Value(ON_HOST.tags, literal=Literal(3))

PREAMBLE = """
import time
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tqdm import tqdm
from torch.utils.data import DataLoader, TensorDataset
from settings import Box

def run(model: nn.Module, weight: nn.Parameter, what):
    here = torch.zeros(3, device="cuda")
    there = torch.zeros(3)
    loader = DataLoader(TensorDataset(there))
    found = {code}
"""


def _given(code: str) -> Value:
    return given(PREAMBLE, code)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("torch.zeros(3)", ON_CPU),
        ("torch.zeros(3, device='cuda')", ON_DEVICE),
        ("torch.zeros(3, device='cpu')", ON_CPU),
        ("torch.zeros(3, device=torch.device('cpu'))", ON_CPU),
        ("torch.zeros(3, device=torch.device('cuda'))", ON_DEVICE),
        ("torch.tensor(here)", TENSOR),
        ("torch.is_tensor(here)", ON_HOST),
        ("torch.cuda.memory_allocated(here)", ON_HOST),
        ("torch.sum(here)", ON_DEVICE),
        ("torch.sum(there)", ON_CPU),
        ("torch.stack([here, here])", ON_DEVICE),
        ("torch.stack(there, device='cuda')", ON_DEVICE),
        ("torch.sum(what)", TENSOR),
        ("torch.Event(what)", UNKNOWN),
        ("torch.linalg.norm(what)", TENSOR),
        ("F.log_softmax(what, dim=1)", TENSOR),
        ("torch.nn.utils.parameters_to_vector(what)", UNKNOWN),
        ("torch.load(here)", UNKNOWN),
        ("torch.autograd.grad(what)", ON_DEVICE),
        ("np.mean(here)", ON_HOST),
        ("time.time()", ON_HOST),
        ("float(here)", ON_HOST),
        ("nn.Linear(3, 3)", MODEL),
        ("torch.compile(model)", MODEL),
        ("torch.compile()", UNKNOWN),
    ],
)
def test_a_librarys_function_gives_what_its_name_and_arguments_say(code: str, value: Value) -> None:
    """Tensors lie where they are made or where their arguments lie; the host's functions give the host's values."""
    assert _given(code) == value


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("F.cross_entropy(here, what)", LOSS),
        ("F.cross_entropy(there, there)", ON_CPU.tagged(Tag.LOSS)),
        ("F.cross_entropy(there, here)", LOSS),
        ("F.cross_entropy()", LOSS),
        ("F.relu(F.cross_entropy(here, what))", LOSS.without(Tag.LOSS)),
    ],
)
def test_a_loss_lies_where_all_that_it_compares_lies(code: str, value: Value) -> None:
    """On the host alone if all of it does; what is computed from a loss is none any more."""
    assert _given(code) == value


def test_a_loss_that_is_made_without_history_carries_none() -> None:
    """Under `no_grad` a loss keeps no graph alive."""
    project, module = module_of(
        "import torch, torch.nn.functional as F\n"
        "with torch.no_grad():\n    F.mse_loss(x, y)\n"
    )  # fmt: skip
    assert value_of(project, module, "F.mse_loss(x, y)") == LOSS.without(Tag.GRAPH)


@pytest.mark.parametrize(
    ("code", "element"),
    [
        ("enumerate([here])", Value(items=(ON_HOST, ON_DEVICE))),
        ("enumerate()", Value(items=(ON_HOST, UNKNOWN))),
        ("zip([here], [3])", Value(items=(ON_DEVICE, THREE))),
        ("tqdm(here)", ON_DEVICE),
        ("tqdm(iterable=here)", ON_DEVICE),
    ],
)
def test_what_passes_elements_on_gives_them_as_they_were(code: str, element: Value) -> None:
    """`enumerate` puts a number beside each, `zip` one beside the other, a progress bar nothing."""
    assert _given(code).element == element


def test_a_loader_stays_one_behind_a_progress_bar() -> None:
    """`tqdm(loader)` is as good as the loader; a list keeps its parts apart; of nothing known, nothing is."""
    assert _given("tqdm(loader)").has(Tag.LOADER)
    assert _given("list([here, 3])").items == (ON_DEVICE, THREE)
    assert _given("tqdm(what)") == UNKNOWN


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("next([here])", ON_DEVICE),
        ("next()", UNKNOWN),
        ("sum([here, here])", ON_DEVICE),
        ("max([here])", ON_DEVICE),
        ("max(here, 1)", ON_DEVICE),
        ("abs(here)", ON_DEVICE),
        ("getattr(here, 'grad')", ON_DEVICE.tagged(Tag.GRADIENT)),
        ("getattr(here, what)", UNKNOWN),
        ("getattr(here)", UNKNOWN),
        ("vars(here)", UNKNOWN),
    ],
)
def test_builtins_give_parts_and_sums_of_what_they_are_handed(code: str, value: Value) -> None:
    """A sum of tensors is one, `next` gives an element, `getattr` with a constant is an attribute."""
    assert _given(code) == value


def test_a_librarys_class_keeps_the_keywords_that_it_was_made_with() -> None:
    """What is known by no name may be read again by attribute, unless arguments were unpacked or it is a function."""
    assert _given("Box(size=here)").field("size") == ON_DEVICE
    assert _given("Box(size=here, **what)") == UNKNOWN
    assert _given("Box.make(size=here)") == UNKNOWN


def test_new_tensors_may_lie_anywhere_where_the_default_device_is_changed() -> None:
    """`torch.set_default_device` leaves open where tensors are made, in files that know of the one that says it."""
    here, there = "import torch\nimport setting\ntorch.zeros(3)\n", "import torch\ntorch.zeros(3)\n"
    files = {"setting.py": "import torch\ntorch.set_default_device('cuda')\n", "here.py": here, "there.py": there}
    project = project_of(files)
    assert value_of(project, project.modules["here"], "torch.zeros(3)") == TENSOR
    assert value_of(project, project.modules["there"], "torch.zeros(3)").tags == ON_CPU.tags
