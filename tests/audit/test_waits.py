"""What makes the host wait for the device."""

import ast

import pytest

from flyball_audit.regions import Region
from flyball_audit.wait import told
from flyball_audit.waits import waits
from tests.audit.projects import module_of

HEAD = """
import logging, math, sys
import numpy as np
import torch
import wandb
model = torch.nn.Linear(2, 2).cuda()
log = logging.getLogger()
watcher = made_elsewhere().to("cuda")
for step, batch in enumerate(batches):
    loss = torch.nn.functional.mse_loss(model(batch.cuda()), batch.cuda())
    host = loss.item() if step < 0 else 0.0
"""
LINES_ABOVE = HEAD.count("\n") + 1


def _told(code: str) -> list[str]:
    """What is said of the waits in a loop's body that reads like that."""
    body = "".join(f"    {line}\n" for line in code.splitlines())
    project, module = module_of(HEAD + body)
    (loop,) = (each for each in module.tree.body if isinstance(each, ast.For))
    region = Region(module, loop)
    return [told(region, each) for each in waits(project, region) if each.node.lineno >= LINES_ABOVE]


@pytest.mark.parametrize(
    ("code", "does"),
    [
        ("x = loss.item()", "`.item()` copies a loss to the host"),
        ("x = loss.detach().tolist()", "`.tolist()` copies a loss to the host"),
        ("x = loss.cpu()", "`.cpu()` copies a loss to the host"),
        ("x = loss.to('cpu')", "`.to(...)` copies a loss to the host"),
        ("x = loss.to('cpu', non_blocking=False)", "`.to(...)` copies a loss to the host"),
        ("x = float(loss)", "`float()` needs a loss as a number on the host"),
        ("x = round(loss, 2)", "`round()` needs a loss as a number on the host"),
        ("x = bool(loss)", "`bool()` needs the truth value of a loss on the host"),
        ("print(step, loss)", "`print()` needs the value of a loss on the host"),
        ("print(f'{step}', file=sys.stderr, end=loss)", "`print()` needs the value of a loss on the host"),
        ("x = str(loss)", "`str()` needs the value of a loss on the host"),
        ("x = f'{step}: {loss:.2f}'", "formatting needs the value of a loss on the host"),
        ("x = '%d: %.2f' % (step, loss)", "formatting needs the value of a loss on the host"),
        ("x = 'loss %.2f' % loss", "formatting needs the value of a loss on the host"),
        ("x = '{}: {:.2f}'.format(step, loss)", "formatting needs the value of a loss on the host"),
        ("x = loss.data[0]", "`.data[0]` copies a loss to the host"),
        ("same = torch.equal(loss, loss)", "`equal()` compares a loss on the host"),
        ("x = np.log(loss)", "`log()` runs on the host and needs the value of a loss"),
        ("x = math.isnan(loss)", "`isnan()` runs on the host and needs the value of a loss"),
        ("writer.add_scalar('loss', loss, step)", "the logger reads the value of a loss at once"),
        ("bar.set_postfix(loss=loss)", "the logger reads the value of a loss at once"),
        ("log.info('%s', loss)", "the logger reads the value of a loss at once"),
        ("wandb.log({'step': step, 'loss': loss})", "the logger reads the value of a loss at once"),
        ("wandb.log(dict(step=step, loss=loss))", "the logger reads the value of a loss at once"),
        ("parts = {'loss': loss}\nwandb.log(parts)", "the logger reads the value of a loss at once"),
        ("print([loss])", "`print()` needs the value of a loss on the host"),
        ("x = '%d %s' % (step, *[loss])", "formatting needs the value of a loss on the host"),
        ("x = loss.cpu().detach().numpy()", "`.cpu()` copies a loss to the host"),
        ("x = loss.detach().to('cpu').numpy()", "`.to(...)` copies a loss to the host"),
        ("for each in range(loss): pass", "`range()` needs a loss as a number on the host"),
    ],
)
def test_reading_a_value_of_the_device_waits(code: str, does: str) -> None:
    """By a method, a conversion, a comparison, NumPy, a text or a logger: the host goes on when the device is done."""
    (said,) = _told(code)
    assert f"waits for the device: {does}" in said


@pytest.mark.parametrize(
    "code",
    [
        "if loss > 3: break",
        "x = 1 if loss.isnan() else 0",
        "while loss > 3: pass",
        "assert loss.isfinite()",
        "if step and not loss.isnan(): pass",
        "x = [each for each in (1, 2) if loss > each]",
        "x = loss.isnan() and step",
    ],
)
def test_a_condition_on_a_tensor_waits(code: str) -> None:
    """Python asks it for a truth value, also behind `not` and among other conditions."""
    (said,) = _told(code)
    assert "a condition needs the truth value of a " in said


def test_the_condition_of_the_loop_itself_waits() -> None:
    """It is asked in every turn, though it does not stand in the body."""
    project, module = module_of(
        "import torch\nmodel = torch.nn.Linear(2, 2).cuda()\nloss = model(x).mean()\n"
        "while loss > 1:\n    loss = model(x).mean()\n"
    )
    loop = module.tree.body[-1]
    assert isinstance(loop, ast.While)
    region = Region(module, loop)
    (wait,) = waits(project, region)
    assert told(region, wait).startswith("`loss > 1` waits for the device: ")


@pytest.mark.parametrize(
    "code",
    [
        "total = loss.detach() + 1",
        "x = loss.to('cuda')",
        "x = loss.to('cpu', non_blocking=True)",
        "x = float(host)",
        "print(step, loss.shape, loss.device)",
        "x = f'{step}: {host}'",
        "if loss is None: pass",
        "if step > 3: pass",
        "if model: pass",
        "print(model)",
        "other = model.cpu()",
        "x = '%d of %d' % (step, host)",
        "x = '{}'.format(loss.shape)",
        "x = name % loss",
        "x = loss.data[:1]",
        "known = any(each is None for each in (loss, loss))",
        "known = bool(watcher and not watcher.off)",
        "print(watcher)",
        "self.log('loss', loss)",
        "self.log_dict({'loss': loss})",
        "x = np.log(host)",
        "other.info(step)",
    ],
)
def test_what_stays_on_the_device_or_is_on_the_host_does_not_wait(code: str) -> None:
    """Nor do shapes, Lightning's own log, the model itself, and a copy that nobody waits for."""
    assert _told(code) == []


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("x = model(batch).item()", "the model's output"),
        ("bad = any(torch.isnan(each) for each in (loss, loss))", "a tensor"),
        ("bad = all([each > 3 for each in (loss, loss)])", "a tensor"),
        ("x = model.weight.tolist()", "a parameter"),
        ("x = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()", "a gradient norm"),
        ("x = torch.ones(2, device='cuda').item()", "a tensor"),
    ],
)
def test_what_is_waited_for_has_its_name(code: str, what: str) -> None:
    """A reader sees at once which value it is about."""
    (said,) = _told(code)
    assert f" {what} " in said.partition("waits for the device: ")[2]
