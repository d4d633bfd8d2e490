"""`no-mixed-precision`: the whole step computes in 32 bits."""

import ast
from collections.abc import Iterator

from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.values import Tag
from flyball_audit.loops import Turns
from flyball_audit.mentions import is_left_out, quick
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import SUSPECTED, Match, Rule

_PRECISION = quick(
    r"autocast|float16|\bhalf\b|bf16|fp16|fp8|allow_tf32|matmul_precision|fp32_precision|GradScaler|\bapex\b|\bamp\b|use_amp|precision\s*=|"
    r"mixed_precision|float64|\.double\(|bitsandbytes|set_default_dtype|torch_dtype"
)


def look(module: Module, project: Project) -> Iterator[Match]:
    """The model's call in training loops that say nothing of precision."""
    for turns in project.loops.training_of(module):
        if turns.hook_of in {"lightning", "transformers"} or not is_left_out(project, module, _PRECISION):
            continue
        found = _forward(project, turns)
        if found is not None and is_left_out(project, found[0].module, _PRECISION):
            region, call = found
            yield Match(
                call,
                f"`{region.module.quote(call)}` computes in 32 bits",
                "no precision is set in this file or in the files around it",
                SUSPECTED,
                module=region.module,
            )


def _forward(project: Project, turns: Turns) -> tuple[Region, ast.Call] | None:
    """The first call of a model in a turn."""
    for region in project.loops.regions(turns):
        for call in sorted(region.all(ast.Call), key=lambda each: (each.lineno, each.col_offset)):
            called = project.flow.value(region.module, call.func)
            runs = (
                called.has(Tag.MODEL)
                and not called.has(Tag.CRITERION)
                and (called.definition is None or called.is_instance)
            )
            if runs and region.rarity(call) is None and project.flow.records_history(region.module, call):
                return region, call
    return None


RULE = Rule(
    id="no-mixed-precision",
    severity=Severity.NOTE,
    summary="No precision is set, so everything is computed in 32 bits.",
    cause="Tensor cores compute in 16 bits, or in TF32 if it is allowed (by default only for convolutions). Matrix "
    "products in plain float32 leave them idle and move twice as many bytes.",
    change="Run the forward pass within `torch.autocast('cuda', dtype=torch.bfloat16)` (before Ampere: float16 with "
    "a GradScaler), or allow TF32 with `torch.set_float32_matmul_precision('high')`. Compare the losses over "
    "a few hundred steps.",
    expected="up to 3× on Volta and newer GPUs",
    source="PyTorch's tuning guide, “Use mixed precision and AMP”: "
    "https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    before="loss = criterion(model(x), y)",
    after="with torch.autocast('cuda', dtype=torch.bfloat16):\n    loss = criterion(model(x), y)",
    look=look,
    gain=Gain(Time.COMPUTE, 3.0),
)
