"""Loops over phases that differentiate in one of them, and record history in all."""

import ast

import pytest

from flyball_audit.phases import recorded_in_all_phases
from tests.audit.projects import module_of

_STEP = """
def run(net, optimizer, x, train=True):
    loss = net(x).mean()
    if train:
        loss.backward()
        optimizer.step()
    return loss

def twice(net, optimizer, x, flag):
    run(net, optimizer, x)
    run(net, optimizer, x)
"""


def _told(body: str, phases: str = 'for phase in ["train", "val"]:') -> str | None:
    lines = "".join(f"            {line}\n" for line in body.split("\n"))
    project, module = module_of(
        f"import torch\nfrom torch import nn\n{_STEP}\ndef fit(loaders):\n    net = nn.Linear(2, 2).cuda()\n"
        f"    optimizer = torch.optim.SGD(net.parameters())\n    {phases}\n"
        '        train = phase == "train"\n        for x in loaders[phase]:\n' + lines
    )
    (turns,) = project.loops.training_of(module)
    call = recorded_in_all_phases(project, turns)
    return None if call is None else ast.unparse(call)


_BACKWARD = "    loss.backward()\n    optimizer.step()"


@pytest.mark.parametrize("test", ["train", 'phase == "train"', '"train" in phase', 'phase.startswith("train")'])
def test_a_phase_that_is_not_differentiated_records_history(test: str) -> None:
    """However the phase is asked for."""
    assert _told(f"loss = net(x).mean()\nif {test}:\n{_BACKWARD}") == "net(x)"


def test_phases_may_be_truths() -> None:
    """A loop over both; of one over numbers the first turn is no evaluation."""
    body = f"loss = net(x).mean()\nif phase:\n{_BACKWARD}"
    assert _told(body, "for phase in (True, False):") == "net(x)"
    assert _told(body, "for phase in range(3):") is None


def test_a_function_that_is_handed_the_phase_does_so_too() -> None:
    """One call down, by position or by name."""
    assert _told("run(net, optimizer, x, train)") == "net(x)"
    assert _told('run(net, optimizer, x, train=phase == "train")') == "net(x)"


def test_phases_that_all_train_are_left_in_peace() -> None:
    """Nothing asks for the phase; an argument is always true; there is but one."""
    assert _told("loss = net(x).mean()\nloss.backward()\noptimizer.step()") is None
    assert _told("run(net, optimizer, x, True)") is None
    assert _told("twice(net, optimizer, x, train)") is None
    assert _told(f"loss = net(x).mean()\nif train:\n{_BACKWARD}", 'for phase in ["train"]:') is None
    assert _told(f"loss = net(x).mean()\nif loss < 3:\n{_BACKWARD}") is None


def test_history_that_is_switched_is_left_in_peace() -> None:
    """For the pass, for the whole loop, or in an arm of its own."""
    body = f"with torch.set_grad_enabled(train):\n    loss = net(x).mean()\nif train:\n{_BACKWARD}"
    assert _told(body) is None
    arms = "if train:\n    loss = net(x).mean()\nelse:\n    with torch.no_grad():\n        loss = net(x).mean()"
    assert _told(f"{arms}\nif train:\n{_BACKWARD}") is None
