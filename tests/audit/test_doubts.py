"""What an expert would ask about a wait before he had it changed."""

import ast

import pytest

from flyball_audit.doubts import Doubt, doubt_in_evaluation, doubt_of, is_trial
from flyball_audit.loops import Kind, Turns
from flyball_audit.regions import reached
from flyball_audit.waits import waits
from tests.audit.projects import module_of

HEAD = """
import torch
from elsewhere import given
model = torch.nn.Linear(2, 2).cuda()
def helper(loss, switch=False):
    {helper}
def {name}(loader):
    for batch in loader:
        loss = torch.nn.functional.mse_loss(model(batch.cuda()), batch.cuda())
        {body}
"""


def _doubts(body: str, *, helper: str = "pass", name: str = "fit", evaluates: bool = False) -> list[Doubt | None]:
    """What is doubted of the waits in a loop that reads like that, in the order of their lines."""
    project, module = module_of(HEAD.format(body=body, helper=helper, name=name))
    loop = next(each for each in ast.walk(module.tree) if isinstance(each, ast.For))
    turns = Turns(module, loop, Kind.EVALUATION if evaluates else Kind.STEP)
    ask = doubt_in_evaluation if evaluates else doubt_of
    return [
        ask(turns, region, wait)
        for region in reached(project, turns.region)
        for wait in waits(project, region)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "helper", "name", "doubt"),
    [
        ("loss.item()", "pass", "fit", None),
        ("print(loss)", "pass", "fit", None),
        ("given(batch).item()", "pass", "fit", Doubt.VALUE),
        ("loss.item()", "pass", "find_lr", Doubt.TRIAL),
        ("loss.item()", "pass", "lr_range_test", Doubt.TRIAL),
        ("helper(loss)", "loss.item()", "fit", None),
        ("helper(loss, batch)", "loss.item() if switch else None", "fit", Doubt.SWITCHED),
        ("helper(loss)", "loss.item() if switch else None", "fit", Doubt.UNASKED),
        ("helper(loss, switch=True)", "loss.item() if switch else None", "fit", Doubt.SWITCHED),
        ("helper(loss, True)", "None if switch else loss.item()", "fit", Doubt.UNASKED),
        ("if loss.item() < 3: break", "pass", "fit", Doubt.CONTROL),
        ("if torch.isnan(loss): break", "pass", "fit", None),
        ("n = loss.item()\n        if n < 3: break", "pass", "fit", Doubt.CONTROL),
        ("n = loss.item()\n        if n < 3: given(n)", "pass", "fit", None),
        ("n = helper(loss)\n        if n < 3: break", "return loss.item()", "fit", Doubt.CONTROL),
        ("m, n = helper(loss)\n        if n < 3: break", "n = loss.item(); return 1, n", "fit", Doubt.CONTROL),
        ("m, n = helper(loss)\n        if m < 3: break", "n = loss.item(); return 1, n", "fit", None),
        ("if loss < given[0]: given[0] = loss; given[1] = batch", "pass", "fit", Doubt.BEST),
        ("if loss < given[0]: given[0] = loss", "pass", "fit", None),
        ("given.set_priorities(batch, loss.detach().cpu().numpy())", "pass", "fit", Doubt.WHOLE),
        ("given({'priority': loss.tolist()})", "pass", "fit", Doubt.WHOLE),
        ("given({'loss': loss.cpu()})", "pass", "fit", None),
        ("if loss.item() < 3: loss = -loss\n        loss.backward()", "pass", "fit", Doubt.CHOSEN),
        ("if loss.item() < 3: best = -loss\n        loss.backward()", "pass", "fit", None),
        ("rate = loss.item()\n        given['lr'] = rate", "pass", "fit", Doubt.OPTION),
        ("rate = loss.item()\n        given['loss'] = rate", "pass", "fit", None),
        ("n = batch.cuda().sum().item()\n        k = min(n, 9); batch.topk(k)", "pass", "fit", Doubt.SIZED),
        ("helper(model(batch.cuda()))", "loss.cpu()", "fit", Doubt.WHOLE),
        ("while loss > 3: loss = loss / 2", "pass", "fit", Doubt.CONTROL),
        ("if (batch.cuda() > 0).any(): continue", "pass", "fit", Doubt.SKIPPED),
        ("if torch.isnan(batch.cuda()).any(): continue", "pass", "fit", None),
        ("if loss.item() > 3: continue", "pass", "fit", None),
        ("mask = batch.cuda() > 0\n        if mask.any(): print(batch[mask])", "pass", "fit", Doubt.INDEXED),
        ("mask = batch.cuda() > 0\n        if mask.any(): print(batch)", "pass", "fit", None),
        ("mask = batch.cuda() > 0\n        if mask.any(): batch = torch.where(mask)", "pass", "fit", Doubt.INDEXED),
        ("n = batch.cuda().sum().item()\n        batch = batch[:n]", "pass", "fit", Doubt.SIZED),
        ("n = torch.randint(9, (), device='cuda').item()\n        batch = batch[:n]", "pass", "fit", None),
        ("if helper(batch.cuda()): pass", "return bool(loss.all())", "fit", Doubt.ANSWER),
        ("helper(loss)", "return float(loss)", "fit", None),
    ],
)
def test_a_wait_in_training_is_doubted_for_one_reason(
    body: str, helper: str, name: str, doubt: Doubt | None
) -> None:  # fmt: skip
    """Its value, its loop, the function that it stands in, or that something depends on it at once."""
    assert _doubts(body, helper=helper, name=name) == [doubt]


def test_what_is_saved_or_made_up_now_and_then_is_doubted() -> None:
    """By the name of the function that leads there."""
    project, module = module_of(HEAD.format(body="save_best(loss)", helper="pass", name="fit") + _SAVING)
    loop = next(each for each in ast.walk(module.tree) if isinstance(each, ast.For))
    turns = Turns(module, loop, Kind.STEP)
    regions = list(reached(project, turns.region))
    assert [doubt_of(turns, region, wait) for region in regions for wait in waits(project, region)] == [Doubt.ASIDE]


def test_what_an_object_reads_while_it_is_made_is_doubted() -> None:
    """Whatever a constructor leads to, however many calls away."""
    project, module = module_of(HEAD.format(body="Weights(loss)", helper="pass", name="fit") + _MAKING)
    loop = next(each for each in ast.walk(module.tree) if isinstance(each, ast.For))
    turns = Turns(module, loop, Kind.STEP)
    regions = list(reached(project, turns.region))
    found = [doubt_of(turns, region, wait) for region in regions for wait in waits(project, region)]
    assert found == [Doubt.ASIDE, Doubt.ASIDE]


_MAKING = """
class Weights:
    def __init__(self, loss):
        self.first = loss.item()
        look_up(loss)
def look_up(loss):
    return loss.item()
"""

_SAVING = """
def save_best(loss):
    torch.save(loss.item(), "best.pt")
"""


@pytest.mark.parametrize(
    ("body", "name", "doubt"),
    [
        ("loss.item()", "evaluate", None),
        ("loss.item()", "predict_all", Doubt.LEAVES),
        ("model(batch.cuda()).cpu()", "evaluate", Doubt.LEAVES),
        ("print(loss)", "evaluate", Doubt.LEAVES),
    ],
)
def test_what_an_evaluation_copies_or_writes_out_is_what_it_is_for(body: str, name: str, doubt: Doubt | None) -> None:
    """A number that is read is not."""
    assert _doubts(body, name=name, evaluates=True) == [doubt]


@pytest.mark.parametrize(
    ("name", "tries"),
    [
        ("find_lr", True),
        ("auto_batch_size", True),
        ("profile_steps", True),
        ("probe_batch_size", True),
        ("train_probes", False),
    ],
)
def test_a_trial_is_told_by_its_name(name: str, tries: bool) -> None:
    """Few steps that find something out."""
    _, module = module_of(HEAD.format(body="loss.item()", helper="pass", name=name))
    loop = next(each for each in ast.walk(module.tree) if isinstance(each, ast.For))
    assert is_trial(Turns(module, loop, Kind.STEP)) is tries
