"""Functions that code elsewhere runs for each batch, as what they are handed tells, or the class where they stand."""

import pytest

from flyball_audit.fed import is_fed, is_handed_batch, is_turn_of
from flyball_audit.module import Function, Module
from flyball_audit.project import Project
from tests.audit.projects import module_of


def _named(text: str, name: str) -> tuple[Project, Module, Function]:
    """The last function of that name."""
    project, module = module_of(f"import torch\n{text}")
    return project, module, [each for each in module.functions if each.name == name][-1]


@pytest.mark.parametrize(
    ("arguments", "handed"),
    [
        ("batch", True), ("self, inputs", True), ("x, train_labels", True), ("images_left", True), ("logits", True),
        ("self", False), ("path", False), ("batching", False), ("*rest", False),
    ],
)  # fmt: skip
def test_a_batch_is_known_by_its_name(arguments: str, handed: bool) -> None:
    """Whatever stands before or after that word, if it is one."""
    assert is_handed_batch(_named(f"def go({arguments}): ...\n", "go")[2]) is handed


@pytest.mark.parametrize(
    ("code", "name", "fed"),
    [
        ("def feed(batch): ...\n", "feed", True),
        ("def feed(queue): ...\n", "feed", False),
        ("class Own:\n    def shared_step(self, inputs, kind): ...\n", "shared_step", True),
        ("class Own:\n    def step(self, action): ...\n", "step", False),
        ("class LossMeter:\n    def add(self, value): ...\n", "add", True),
        ("class LossMeter:\n    def mean(self): ...\n", "mean", False),
        ("class Ledger:\n    def add(self, value): ...\n", "add", False),
        ("class Own(torch.optim.SGD):\n    def step(self, closure=None): ...\n", "step", True),
        ("class Own(torch.optim.Optimizer):\n    def show(self): ...\n", "show", False),
    ],
)
def test_a_step_is_handed_a_batch_or_is_an_optimizers(code: str, name: str, fed: bool) -> None:
    """A name that may be anything tells nothing alone."""
    assert is_fed(*_named(code, name)) is fed


def test_what_a_parents_turn_calls_is_part_of_it_in_its_heirs() -> None:
    """Other methods are not, nor what the parent leaves to them without a word."""
    parent = "class Up(torch.nn.Module):\n    def forward(self, x):\n        return self.top(x)\n"
    parent += "    def top(self, x): ...\n    def free(self): ...\n"
    code = f"{parent}class Own(Up):\n    def top(self, x): ...\n    def free(self): ...\n    def new(self): ...\n"
    assert {name: is_fed(*_named(code, name)) for name in ("top", "free", "new")} == {
        "top": True, "free": False, "new": False,
    }  # fmt: skip
    assert not is_fed(*_named(parent, "top"))  # seen from its own forward pass


@pytest.mark.parametrize(
    ("code", "once"),
    [
        ("def go(batch):\n    mark()\n", True),
        ("def go(batch):\n    for _ in range(3):\n        mark()\n", True),
        ("def go(model):\n    for _ in range(3):\n        mark()\n", False),
        ("def go(batch):\n    for each in batch:\n        mark()\n", False),
        ("def go(batch):\n    while batch:\n        mark()\n", False),
    ],
)
def test_a_turn_may_repeat_itself_for_the_batch_that_it_is_handed(code: str, once: bool) -> None:
    """By a count; what goes through the batch, or is handed none, is another loop."""
    _, module, function = _named(code, "go")
    assert is_turn_of(module, next(iter(module.calls_named("mark"))), function) is once
