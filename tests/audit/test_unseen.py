"""What runs for each batch although no loop among the files is seen to run it."""

import ast

import pytest

from flyball_audit.finding import Severity
from flyball_audit.loops import Kind
from flyball_audit.rule import SUSPECTED, Match
from flyball_audit.unseen import CALLED, noted
from tests.audit.projects import module_of, project_of


def _supposed(text: str) -> dict[str, bool]:
    """The supposed functions of a file by name, with whether they train; loops by their line."""
    project, module = module_of(f"import torch\nfrom torch import nn\n{text}")
    return {
        getattr(each.node, "name", f"line {each.node.lineno}"): kind is Kind.STEP
        for kind in Kind
        for each in project.loops.supposed_of(module, kind)
    }


@pytest.mark.parametrize(
    "name",
    [
        "train_step", "training_step", "train_one_batch", "fit_batch", "optimize_parameters", "update_critic", "learn",
        "calculate_loss", "compute_loss", "get_loss", "param_update", "on_batch_end", "after_train_iter", "after_loss",
        "compute_loss_q", "_run_backward", "_on_batch",
    ],
)  # fmt: skip
def test_a_name_that_trainers_call_for_each_batch_tells(name: str) -> None:
    """A method of any class, if it is handed something."""
    assert _supposed(f"class Own:\n    def {name}(self, batch): ...\n") == {name: True}


@pytest.mark.parametrize("name", ["validation_step", "eval_batch", "test_step", "val_iter", "inference_step"])
def test_a_name_of_evaluation_tells_that_nothing_is_trained(name: str) -> None:
    """Its batches are gone through all the same."""
    assert _supposed(f"class Own:\n    def {name}(self, batch): ...\n") == {name: False}


@pytest.mark.parametrize(
    "code",
    [
        "class Own:\n    def train_epoch(self, batch): ...\n",
        "class Own:\n    def update(self): ...\n",
        "class Own:\n    def save(self, batch): ...\n",
        "class Transform:\n    def train_step(self, batch): ...\n",
        "def explain(x):\n    x.backward()\n",
        "def main():\n    loss.backward()\n",
        "class Net(nn.Module):\n    def forward(self, x):\n        return x * 2\n",
        "class Plain:\n    def forward(self, x):\n        return x.item()\n",
    ],
)
def test_what_runs_once_or_on_the_host_is_not_supposed(code: str) -> None:
    """Nor a forward pass that cannot wait, nor what prepares data."""
    assert _supposed(code) == {}


def test_a_backward_pass_or_a_step_of_its_own_tells() -> None:
    """Whatever the function is called; in a loop of its own, the loop is what counts."""
    assert _supposed("def go(loss):\n    loss.backward()\n") == {"go": True}
    assert _supposed("def go(optimizer):\n    optimizer.step()\n") == {"go": True}
    assert _supposed("def fit(xs):\n    for x in xs:\n        net(x).backward()\n") == {"line 4": True}


def test_a_modules_forward_pass_runs_for_each_batch() -> None:
    """If it, or another method of the module, reads anything."""
    code = "class Net(nn.Module):\n    def forward(self, x):\n        return self.top(x)\n    def top(self, x): {}\n"
    assert _supposed(code.format("return x.max().item()")) == {"forward": True}
    assert _supposed(code.format("return x.max()")) == {}


def test_hooks_of_tensors_run_in_each_pass() -> None:
    """What is handed to `register_hook` is called by every backward pass."""
    assert _supposed("def refuse(g): ...\ndef go(loss):\n    loss.register_hook(refuse)\n") == {"refuse": True}


def test_loops_tell_that_hand_batches_to_steps_of_unknown_things() -> None:
    """And those over loaders that record no history."""
    assert _supposed("def fit(engine, loader):\n    for x in loader:\n        engine.train_step(x)\n") == {
        "line 4": True
    }
    checks = "def run(engine, loader):\n    with torch.no_grad():\n        for x in loader:\n            engine.go(x)\n"
    assert _supposed(checks) == {"line 5": False}


LOOP = "for x in loader:\n        loss = net(x)\n        loss.backward()\n        optimizer.step()\n"


def test_what_a_seen_loop_runs_is_not_supposed_besides() -> None:
    """It is certain there."""
    seen = f"def train_step(x): ...\ndef fit(net, loader, optimizer):\n    {LOOP}        train_step(x)\n"
    assert _supposed(seen) == {}


def test_methods_that_a_seen_loop_calls_of_unknown_things_are_supposed() -> None:
    """By their name, in whatever file that knows of the loop's."""
    loop = (
        f"import torch\nimport listeners\ndef fit(net, loader, optimizer, each):\n    {LOOP}        each.tell(loss)\n"
    )
    listeners = "import torch\nclass Own:\n    def tell(self, loss): ...\n    def other(self, loss): ...\n"
    project = project_of({"train.py": loop, "listeners.py": listeners})
    module = project.modules["listeners"]
    assert [getattr(each.node, "name", "") for each in project.loops.supposed_of(module, Kind.STEP)] == ["tell"]


def test_a_property_that_a_seen_turn_reads_is_supposed() -> None:
    """It is a call without brackets."""
    code = (
        "class Own:\n    @property\n    def heat(self):\n        return float(self.holder())\n"
        "    def fit(self, net, loader, optimizer):\n        " + LOOP.replace("\n    ", "\n        ")
    )
    assert _supposed(code) == {}
    assert _supposed(f"{code}            self.heat\n") == {"heat": True}


def test_what_is_supposed_to_run_is_noted() -> None:
    """As a note that says so, without a change that anything applies."""
    project, module = module_of("import torch\nclass Own:\n    def train_step(self, batch): ...\n")
    (turns,) = project.loops.supposed_of(module, Kind.STEP)
    (node,) = (each for each in ast.walk(turns.node) if isinstance(each, ast.Expr))
    match = noted(Match(node, "waits", "each turn", 0.95, Severity.WARNING), module, turns.node)
    assert (match.severity, match.confidence) == (Severity.NOTE, SUSPECTED)
    assert match.because == f"`train_step` at train.py:3 {CALLED}"
