"""`no-compile`: the model runs operation by operation."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.definition import Definition
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.values import Tag
from flyball_audit.loops import Turns
from flyball_audit.mentions import is_left_out
from flyball_audit.project import Module, Project
from flyball_audit.rule import SUSPECTED, Match, Rule

_COMPILED = re.compile(
    r"torch\.compile|\.compile\((?<!\bre\.compile\()|torch_compile|import compile\b|jit\.(script|trace)|dynamo"
    r"|CUDAGraph|make_graphed|thunder|tensorrt"
)

_OUTSIDE = ("Loss", "Criterion")


def look(module: Module, project: Project) -> Iterator[Match]:
    """Where the models are made that a training loop runs, and nothing compiles."""
    for turns in project.loops.training_of(module):
        if turns.hook_of in {"lightning", "transformers"} or not is_left_out(project, module, _COMPILED):
            continue
        for home, made in _models(project, turns):
            if is_left_out(project, home, _COMPILED):
                yield Match(
                    made,
                    f"`{home.quote(made.func)}` is trained without being compiled",
                    f"the loop at {module.path}:{turns.node.lineno} runs it, and nothing in this file or the files "
                    "around it compiles anything",
                    SUSPECTED,
                    module=home,
                )


def _models(project: Project, turns: Turns) -> Iterator[tuple[Module, ast.Call]]:
    """The calls that made the models of a turn."""
    for region in project.loops.regions(turns):
        for call in region.all(ast.Call):
            called = project.flow.value(region.module, call.func)
            if (
                called.has(Tag.MODEL)
                and not called.has(Tag.CRITERION)
                and called.made_at is not None
                and _is_whole(called.made_by)
                and not _is_part(project, *called.made_at)
            ):
                yield called.made_at


def _is_whole(made_by: str | None) -> bool:
    """Whether it is a model, not a part of PyTorch's own."""
    name = (made_by or "").rpartition(".")[2]
    return not name.endswith(_OUTSIDE)


def _is_part(project: Project, home: Module, made: ast.Call) -> bool:
    """Whether a module makes it for itself: the whole is compiled, not each of its parts."""
    function = home.function_of(made)
    holder = home.class_of(function) if function is not None else None
    return holder is not None and project.flow.is_module(Definition(home, holder))


RULE = Rule(
    id="no-compile",
    severity=Severity.NOTE,
    summary="The model is not compiled.",
    cause="Each operation is launched from Python and reads and writes device memory. Compilation fuses "
    "neighbouring operations into one kernel.",
    change="Use `model = torch.compile(model)` after the model was moved to the device, and measure the effect. "
    "Changing shapes cause recompilation, and some models become slower.",
    expected="1.2× in float32 and 1.5× in mixed precision on average over 163 models on an A100, up to 1.85× for "
    "nanoGPT (250 to 135 ms an iteration), a slowdown for some",
    source="https://pytorch.org/get-started/pytorch-2.0/, https://github.com/karpathy/nanoGPT",
    before="model = GPT(config).to(device)",
    after="model = torch.compile(GPT(config).to(device))",
    look=look,
    gain=Gain(Time.COMPUTE, 1.85),
)
