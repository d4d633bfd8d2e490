"""Methods and functions that a library's own loop calls for each batch, by the class or the event they are given to."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition
from flyball_audit.module import Function, Module

if TYPE_CHECKING:
    from flyball_audit.project import Project

Names = frozenset[str]
NO_NAMES: Names = frozenset()


@dataclass(frozen=True)
class Framework:
    """A library whose loop calls methods of classes that derive from its own."""

    name: str
    bases: re.Pattern[str]
    """Full names of those classes of its."""
    training: Names
    evaluation: Names = NO_NAMES


_AROUND_BATCH = frozenset({"on_train_batch_start", "on_train_batch_end"})
_AROUND_STEP = frozenset({"on_before_optimizer_step", "on_before_zero_grad", "on_before_backward", "on_after_backward"})

FRAMEWORKS = (
    Framework(
        "lightning",
        re.compile(r"^lightning\..*LightningModule$"),
        _AROUND_BATCH | _AROUND_STEP | {"training_step", "training_step_end", "optimizer_step"},
        frozenset({"validation_step", "test_step", "predict_step", "on_validation_batch_end", "on_test_batch_end"}),
    ),
    Framework(
        "transformers",
        re.compile(r"^(transformers|trl)\..*Trainer$"),
        frozenset({"compute_loss", "training_step"}),
        frozenset({"prediction_step"}),
    ),
    Framework(
        "fastai",
        re.compile(r"^fastai\..*(Callback|LearnerCallback)$"),
        frozenset({
            "before_batch", "after_batch", "after_pred", "after_loss", "before_backward", "after_backward",
            "before_step", "after_step", "after_cancel_batch", "on_batch_begin", "on_batch_end", "on_loss_begin",
            "on_backward_begin", "on_backward_end", "on_step_end",
        }),
    ),
    Framework(
        "callback",
        re.compile(r"(TrainerCallback|lightning\.Callback|callbacks\.Callback)$"),
        _AROUND_BATCH | _AROUND_STEP
        | {"on_step_end", "on_step_begin", "on_substep_end", "on_pre_optimizer_step", "on_optimizer_step", "on_batch"},
    ),
    Framework(
        "mmengine",
        re.compile(r"^(mmengine\.hooks|mmcv\.runner)\..*Hook$"),
        frozenset({"before_train_iter", "after_train_iter", "before_iter", "after_iter"}),
        frozenset({"after_val_iter", "after_test_iter"}),
    ),
    Framework("catalyst", re.compile(r"^catalyst\..*(Runner|Callback)$"), frozenset({"handle_batch", "on_batch_end"})),
    Framework(
        "composer",
        re.compile(r"^composer\..*(Callback|Algorithm|ComposerModel)$"),
        frozenset({"batch_start", "batch_end", "after_forward", "before_loss", "after_loss", "after_backward", "loss"}),
        frozenset({"eval_forward", "update_metric", "eval_batch_end"}),
    ),
    Framework(
        "detectron2",
        re.compile(r"^detectron2\..*(HookBase|TrainerBase|SimpleTrainer|DefaultTrainer)$"),
        frozenset({"run_step", "before_step", "after_step"}),
    ),
    Framework(
        "fairseq",
        re.compile(r"^fairseq\..*(FairseqTask|TranslationTask|FairseqCriterion)$"),
        frozenset({"train_step", "forward", "compute_loss"}),
        frozenset({"valid_step"}),
    ),
)  # fmt: skip
"""Which methods the loops of which library call for each batch, as its documentation of hooks says."""

TRAINING = NO_NAMES.union(*(each.training for each in FRAMEWORKS))
EVALUATION = NO_NAMES.union(*(each.evaluation for each in FRAMEWORKS))
_EITHER = TRAINING | EVALUATION


@dataclass(frozen=True)
class Hook:
    """A function that a library's loop calls for each batch."""

    node: Function
    framework: str
    trains: bool


def hooks(project: "Project", module: Module) -> Iterator[Hook]:
    """The hooks in one file."""
    if module.says_any(_EITHER):
        for node in module.all(ast.ClassDef):
            yield from _of_class(project, module, node)
    if module.says_any(("ITERATION_",)):
        yield from _handlers(project, module)


def _of_class(project: "Project", module: Module, node: ast.ClassDef) -> Iterator[Hook]:
    named = [each for each in node.body if isinstance(each, Function) and each.name in _EITHER]
    framework = _framework_of(project, module, node) if named else None
    for each in named if framework else ():
        if framework is not None and each.name in framework.training | framework.evaluation:
            yield Hook(each, framework.name, each.name in framework.training)


def _framework_of(project: "Project", module: Module, node: ast.ClassDef) -> Framework | None:
    bases = project.flow.bases(Definition(module, node))
    return next((each for each in FRAMEWORKS if any(map(each.bases.search, bases))), None)


_EVENT = re.compile(r"\bITERATION_(STARTED|COMPLETED)$")
"""Of Ignite: each batch; `ITERATION_COMPLETED(every=100)` is not each."""

_OF_EVALUATION = re.compile(r"eval|valid|test|infer", re.IGNORECASE)


def _handlers(project: "Project", module: Module) -> Iterator[Hook]:
    """Ignite's: functions under `@trainer.on(Events.ITERATION_COMPLETED)`, or added to that event."""
    for function in module.functions:
        for each in function.decorator_list:
            if isinstance(each, ast.Call) and _is_of(each, "on") and _EVENT.search(ast.unparse(each.args[0])):
                yield Hook(function, "ignite", not _OF_EVALUATION.search(ast.unparse(each.func)))
    for call in module.calls_named("add_event_handler"):
        if len(call.args) > 1 and _is_of(call, "add_event_handler") and _EVENT.search(ast.unparse(call.args[0])):
            handler = project.flow.value(module, call.args[1]).definition
            if handler is not None and handler.module is module and isinstance(handler.node, Function):
                yield Hook(handler.node, "ignite", not _OF_EVALUATION.search(ast.unparse(call.func)))


def _is_of(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == name and bool(call.args)
