"""Updates of one turn that each have a forward pass of their own."""

from flyball_audit.turn_about import of_their_own
from tests.audit.projects import module_of

BEGIN = """import torch
from torch import nn
model = nn.Linear(3, 3).cuda()
first = torch.optim.Adam(model.parameters())
def train(loader, odd):
    for x in loader:
"""


def _told(body: str) -> list[int]:
    """The lines of the body with such a backward pass, from 1."""
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    project, module = module_of(BEGIN + lines)
    (turns,) = project.loops.training_of(module)
    return [each.lineno - BEGIN.count("\n") for each in of_their_own(project, turns)]


def test_branches_that_run_the_model_themselves_are_told() -> None:
    """Each differentiates what it made, and nothing of that is used in the other."""
    branch = "    loss = model(x).sum()\n    loss.backward()\n    first.step()"
    assert _told(f"if odd:\n{branch}\nelse:\n{branch}") == [3, 7]


def test_a_graph_that_is_used_below_is_not_told() -> None:
    """What a branch hands on may be differentiated once more."""
    assert not _told("if odd:\n    y = model(x)\n    y.sum().backward()\ny.abs().sum().backward()\nfirst.step()")


def test_one_backward_pass_is_no_turn_about() -> None:
    """Other code looks after a turn that differentiates once."""
    assert not _told("if odd:\n    model(x).sum().backward()\n    first.step()")
