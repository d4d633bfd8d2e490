"""`checkpoint-every-step`: the weights are written to disk in every step."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.finding import Severity
from flyball_audit.flow.values import Tag
from flyball_audit.guards import Rarity
from flyball_audit.module import last_name
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import CERTAIN, LIKELY, Match, Rule

_SAVING = re.compile(
    r"^torch\.save$|^safetensors\.torch\.save_(file|model)$|^torch\.distributed\.checkpoint\.(state_dict_saver\.)?save$"
)
_METHODS = frozenset({"save_state", "save_model", "save_pretrained", "save_checkpoint"})
_OFTEN = frozenset({None, Rarity.ACCUMULATED, Rarity.RANK})


FAR = 2
"""Calls from a loop down to a save: what each of them is thinned out by is seldom seen."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Saves in each turn of the module's training loops."""
    for turns in project.loops.training_of(module):
        for region in project.loops.regions(turns):
            for call in region.all(ast.Call):
                if _saves(project, region, call) and region.rarity(call) in _OFTEN and not region.nesting(call):
                    yield Match(
                        call,
                        f"`{region.module.quote(call)}` runs in every step",
                        f"each iteration of the loop at {turns.module.path}:{turns.node.lineno} writes a checkpoint",
                        CERTAIN if region.rarity(call) is None else LIKELY,
                        Severity.NOTE if len(region.calls) >= FAR else None,
                        module=region.module,
                    )


def _saves(project: Project, region: Region, call: ast.Call) -> bool:
    if "save" not in last_name(call):
        return False
    if _SAVING.search(region.module.qualified(call.func) or ""):
        return True
    if last_name(call) not in _METHODS or not isinstance(call.func, ast.Attribute):
        return False
    held = project.flow.value(region.module, call.func.value)
    return bool(held.tags & {Tag.MODEL, Tag.ACCELERATOR, Tag.ENGINE, Tag.TRAINER}) and held.definition is None


RULE = Rule(
    id="checkpoint-every-step",
    severity=Severity.WARNING,
    summary="A checkpoint is written in every step.",
    cause="The weights are copied to the host and written out while the device waits, after every single step.",
    change="Save every N steps; choose N by how much work may be lost. Save large checkpoints asynchronously.",
    expected="up to the whole time of a checkpoint, in each step; written asynchronously, a checkpoint of a 7B "
    "model blocked the training for 6.3 s instead of 148.8 s",
    source="PyTorch's “Reducing Model Checkpointing Times by Over 10x”: "
    "https://pytorch.org/blog/reducing-checkpointing-times",
    before="for x in loader:\n    step(x)\n    torch.save(model.state_dict(), path)",
    after="for number, x in enumerate(loader):\n    step(x)\n    if number % 1000 == 0:\n        "
    "torch.save(model.state_dict(), path)",
    look=look,
)
