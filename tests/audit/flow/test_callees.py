"""Which function a call runs is found by names where they tell enough, and by values where they do not."""

import ast

import pytest

from flyball_audit.flow.callees import calls_to
from flyball_audit.flow.engine import Flow
from tests.audit.projects import module_of

CLASSES = """
import os
import torch
from torch import nn

class Base(nn.Module):
    def shared(self): return 1

class Model(Base):
    def __init__(self):
        self.part = Part()
        self.chosen = helper
    def forward(self, x): return x
    @property
    def given(self): return helper
    @staticmethod
    def fixed(self): return self.shared()

class Part(nn.Module):
    def forward(self, x): return x

def helper(): return 2
def step(): return 3
model = Model()
renamed = helper
"""


def _run(body: str) -> list[str]:
    """The names of the functions that the last call of a function inside of Model runs."""
    inside = "".join(f"        {line}\n" for line in body.split("\n"))
    code = CLASSES.replace("    @property\n", f"    def use(self, x):\n{inside}    @property\n", 1)
    project, module = module_of(code)
    calls = [each for each in module.all(ast.Call) if getattr(module.function_of(each), "name", "") == "use"]
    last = max(calls, key=lambda each: (each.lineno, -each.col_offset))
    return [getattr(each.node, "name", "") for each in project.flow.callees(module, last)]


@pytest.mark.parametrize(
    ("body", "runs"),
    [
        ("helper()", ["helper"]), ("Model()", ["__init__"]), ("os.getcwd()", []), ("torch.zeros(3)", []),
        ("self.shared()", ["shared"]), ("self.use(x)", ["use"]), ("self.part(x)", ["forward"]),
        ("self.chosen()", ["helper"]), ("self.given()", ["helper"]), ("self.absent()", []), ("super().shared()", []),
        ("model(x)", ["forward"]), ("model.shared()", ["shared"]), ("model.zero_grad()", []), ("renamed()", ["helper"]),
        ("x.step()", []), ("(lambda: self.shared())\nself.shared()", ["shared"]), ("Base.shared(self)", ["shared"]),
    ],
)  # fmt: skip
def test_a_call_runs_what_its_name_or_value_says(body: str, runs: list[str]) -> None:
    """Imports, definitions, methods, attributes that hold functions or modules, and what is not the project's."""
    assert _run(body) == runs


def test_a_function_inside_hides_the_one_outside() -> None:
    """The nearest definition of a name counts."""
    project, module = module_of("def work(): return 1\ndef main():\n    def work(): return 2\n    return work()\n")
    (call,) = module.all(ast.Call)
    (found,) = project.flow.callees(module, call)
    assert found.node.lineno == 3


def test_names_that_tell_enough_need_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """To follow a whole function only to learn what it calls is what makes an audit slow."""
    monkeypatch.setattr(Flow, "frame", None)
    assert _run("helper()") == ["helper"]
    assert _run("self.shared()") == ["shared"]
    assert _run("x.backward()") == []


@pytest.mark.parametrize(
    ("body", "runs"),
    [
        ("chosen = helper if x else step\nchosen()", {"helper", "step"}),
        ("chosen = {'a': helper, 'b': step}[x]\nchosen()", {"helper", "step"}),
        ("if x:\n    chosen = helper\nelse:\n    chosen = self.shared\nchosen()", {"helper", "shared"}),
        ("chosen = helper if x else torch.zeros\nchosen()", {"helper"}),
    ],
)
def test_of_functions_that_are_chosen_while_running_each_may_run(body: str, runs: set[str]) -> None:
    """By a condition, from a table, or in branches."""
    assert set(_run(body)) == runs


def test_calls_by_its_name_count_only_where_they_run_the_function() -> None:
    """Another thing's method of the same name is no such call."""
    project, module = module_of("def run(x): ...\nrun(1)\nother.run(2)\ndef main():\n    run(3)\n")
    function = next(each for each in module.functions if each.name == "run")
    assert [ast.unparse(call) for _, call in calls_to(project.flow, module, function)] == ["run(1)", "run(3)"]
