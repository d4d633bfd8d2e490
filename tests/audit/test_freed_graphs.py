"""Find out whether a backward pass of the same iteration frees the graph of a value that is kept."""

import gc
from importlib.util import find_spec
from typing import Any

import pytest

from flyball_audit.finding import Finding, Severity
from flyball_audit.run import audit_sources
from flyball_audit.source import Source

HEAD = """
import torch
from torch.cuda import amp

class Meter:
    def __init__(self):
        self.sum = 0
    def update(self, value, n=1):
        self.sum += value * n

def step(model, x, y):
    loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
    part = loss * 0.5
    check = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
    loss.backward()
    return loss, check

def differentiate(value):
    value.backward()

def train(model, loader, criterion, optimizer, scaler, engine, fp16, phase):
    total, kept, meter = 0, [], Meter()
    for number, (x, y) in enumerate(loader):
        out = model(x.cuda())
        loss = criterion(out, y.cuda())
        {body}
        optimizer.step()
        optimizer.zero_grad()
"""

FREED = [
    "loss.backward()\ntotal += loss",
    "total += loss\nloss.backward()",
    "(loss / 4).backward()\nkept.append(loss)",
    "scaler.scale(loss).backward()\ntotal = total + loss * len(x)",
    "engine.backward(loss)\ntotal += loss",
    "other = loss + out.mean()\nother.backward()\nkept.append((number, loss))",
    "with amp.scale_loss(loss, optimizer) as scaled:\n    scaled.backward()\ntotal += loss",
    "if fp16:\n    scaler.scale(loss).backward()\nelse:\n    loss.backward()\ntotal += loss",
    "loss, check = step(model, x, y)\ntotal += loss",
    "differentiate(loss)\ntotal += loss",
    "loss.backward()\nmeter.update(loss, 2)",
    "if phase == 'train':\n    loss.backward()\n    total += loss",
    "torch.autograd.grad(loss, model.parameters())\nloss.backward()\ntotal += loss",
]

KEPT = [
    "loss.backward()\ntotal += criterion(model(x.cuda()), y.cuda())",
    "check = criterion(model(x.cuda()), y.cuda())\nloss.backward()\ntotal += check",
    "loss.backward(retain_graph=True)\ntotal += loss",
    "loss.backward(create_graph=True)\ntotal += loss",
    "if phase == 'train':\n    loss.backward()\ntotal += loss",
    "if number % 4 == 0:\n    loss.backward()\ntotal += loss",
    "loss, check = step(model, x, y)\ntotal += check",
]


def _finding(body: str) -> Finding:
    report = audit_sources([Source("train.py", HEAD.format(body=body.replace("\n", "\n        ")))])
    assert not report.failures
    (found,) = (each for each in report.findings if each.rule == "retained-graph")
    return found


@pytest.mark.parametrize("body", FREED)
def test_after_a_backward_pass_only_the_nodes_of_a_graph_stay(body: str) -> None:
    """That is a slow leak of host memory: a note, and no word of activations that are kept."""
    found = _finding(body)
    assert found.severity is Severity.NOTE
    assert found.because.startswith("`backward()` frees the activations")
    assert "in host memory" in found.because


@pytest.mark.parametrize("body", KEPT)
def test_without_a_backward_pass_all_activations_stay(body: str) -> None:
    """A graph that no backward pass reaches, or that it is told to keep, holds the device's memory: a warning."""
    found = _finding(body)
    assert found.severity is Severity.WARNING
    assert "with all its activations" in found.because


def test_a_whole_output_stays_on_the_device_with_or_without_its_graph() -> None:
    """Detaching is not enough then: it has to be moved to the host as well."""
    found = _finding("loss.backward()\nkept.append(out)")
    assert found.severity is Severity.WARNING
    assert ".detach().cpu()" in found.change


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is no dependency of the audit; with it this runs too")
@pytest.mark.parametrize(("backward", "stays"), [("once", False), ("with the graph retained", True), ("never", True)])
def test_pytorch_frees_the_activations_in_a_backward_pass(backward: str, stays: bool) -> None:
    """Of three kept losses all saved activations are there, or none."""
    import torch  # noqa: PLC0415  not a dependency

    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(7, 7), torch.nn.GELU())]
    model: Any = torch.nn.Sequential(*layers)
    total: Any = 0
    for _ in range(3):
        loss = model(torch.randn(11, 7)).square().mean()
        if backward != "never":
            loss.backward(retain_graph=backward != "once")
        total += loss
        del loss
    gc.collect()
    saved = _saved(total.grad_fn)
    assert bool(saved) is stays
    assert total.grad_fn is not None


def _saved(node: Any) -> list[Any]:
    """Return the activations that the nodes of a graph still hold."""
    found, waiting, seen = [], [node], set()
    while waiting:
        here = waiting.pop()
        if here is None or here in seen:
            continue
        seen.add(here)
        waiting += [each for each, _ in here.next_functions]
        for name in ("_saved_self", "_saved_mat1"):
            try:
                kept = getattr(here, name, None)
            except RuntimeError:  # freed
                continue
            if kept is not None and kept.dim() == 2:
                found.append(kept)
    return found
