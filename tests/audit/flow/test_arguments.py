"""Arguments are what calls hand over, those of the method in whose place another stands included."""

import ast

import pytest

from flyball_audit.flow.values import Tag, Value
from flyball_audit.module import Function, Module
from flyball_audit.project import Project
from tests.audit.projects import module_of, project_of

_LEARNERS = """
import torch

class Learner:
    def fit_batch(self, batch, weight):
        return batch.sum()

    def other(self, batch):
        pass

class Deep(Learner):
    def fit_batch(self, batch, weight):
        return (batch,)

    def another(self, batch):
        return [batch]

class Stranger:
    def fit_batch(self, batch, weight):
        return {batch}

def run(learner: Learner, x: torch.Tensor, device):
    learner.fit_batch(x.to(device), 3)
"""


@pytest.mark.parametrize(("holder", "on_device"), [("Learner", True), ("Deep", True), ("Stranger", False)])
def test_a_method_is_handed_what_calls_of_the_one_that_it_replaces_hand_over(holder: str, on_device: bool) -> None:
    """A call of the base's method may run an heir's; it runs no other class's."""
    project, module = module_of(_LEARNERS)
    assert _argument(project, module, holder, "fit_batch").has(Tag.DEVICE) is on_device


def test_other_methods_of_an_heir_are_handed_nothing() -> None:
    """Only one of the same name stands in the place of another."""
    project, module = module_of(_LEARNERS)
    assert not _argument(project, module, "Deep", "another").has(Tag.DEVICE)


def test_an_heir_need_not_be_known_to_who_calls_the_base() -> None:
    """The caller imports the base alone, which says nothing of its heirs."""
    project = project_of({
        "base.py": "class Learner:\n    def fit_batch(self, batch):\n        return batch\n",
        "deep.py": "from base import Learner\nclass Deep(Learner):\n"
        "    def fit_batch(self, batch):\n        return batch\n",
        "run.py": "import torch\nfrom base import Learner\ndef run(learner: Learner, x: torch.Tensor, device):\n"
        "    learner.fit_batch(x.to(device))\n",
    })  # fmt: skip
    assert _argument(project, project.modules["deep"], "Deep", "fit_batch").has(Tag.DEVICE)


def _argument(project: Project, module: Module, holder: str, method: str) -> Value:
    """What the first argument of a method is where it is read first."""
    (function,) = (each for each in module.functions if each.name == method and _home(module, each) == holder)
    read = next(each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == "batch")
    return project.flow.value(module, read)


def _home(module: Module, function: Function) -> str:
    found = module.class_of(function)
    return found.name if found is not None else ""
