"""Passes behind `model.eval()` that record history for nothing."""

import ast

from flyball_audit.switched import passes_behind_eval
from tests.audit.projects import module_of


def _told(body: str, name: str = "check") -> list[str]:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    project, module = module_of(f"import torch\ndef {name}(model, x):\n{lines}")
    return [ast.unparse(each) for each in passes_behind_eval(project, module, module.functions[-1])]


def test_what_is_read_of_a_switched_model_is_told() -> None:
    """A model that nobody knows is one if it is switched to evaluation."""
    assert _told("model.eval()\nloss = model(x).mean()\nreturn loss.item()") == ["model(x)"]


def test_a_training_pass_above_the_switch_does_not_matter() -> None:
    """Only what stands below may be differentiated there."""
    assert _told("model(x).sum().backward()\nmodel.eval()\nreturn model(x).item()") == ["model(x)"]


def test_history_that_is_off_wanted_or_handed_on_is_left_in_peace() -> None:
    """Neither `no_grad`, nor a backward pass, nor a result that goes elsewhere, nor a model that trains again."""
    assert not _told("model.eval()\nwith torch.no_grad():\n    return model(x).item()")
    assert not _told("model.eval()\nloss = model(x).mean()\nloss.backward()\nreturn loss.item()")
    assert not _told("model.eval()\ny = model(x)\nprint(y.sum().item())\nreturn y")
    assert not _told("model.eval()\nmodel.train()\nreturn model(x).item()")


def test_a_name_may_say_that_answers_are_wanted() -> None:
    """What `predict` gives back of a model that it has switched is not differentiated; what others give may be."""
    body = "model.eval()\nreturn model(x)"
    assert _told(body, "predict") == _told(body, "get_logits") == ["model(x)"]
    assert not _told(body, "features")
    assert not _told("model.eval()\nx.requires_grad_()\nreturn model(x)", "predict")
