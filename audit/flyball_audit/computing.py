"""Functions that compute with tensors for whoever trains: optimizers' steps, operations, parts of losses and models."""

import ast
import re
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition
from flyball_audit.given import named_arguments
from flyball_audit.module import Function, Module
from flyball_audit.names import code_of

if TYPE_CHECKING:
    from flyball_audit.project import Project

_OPTIMIZER = re.compile(r"^torch\.optim\..*\bOptimizer$|^torch\.optim\.\w+$")

_OPERATIONS = frozenset({"torch.autograd.Function", "torch.autograd.function.Function"})
"""Bases of operations with a gradient of their own."""

_PASSES = frozenset({"forward", "backward", "jvp", "vjp"})

_ELSEWHERE = re.compile(
    r"(^|_)(init\w*|reset\w*|build|setup|load\w*|save\w*|export\w*|test\w*|configure|register|make|create|plot\w*"
    r"|visuali[sz]e\w*|draw\w*|render\w*|show\w*|print\w*|log|report\w*|summar\w*|repr|str|check\w*|validate\w*|verify\w*"
    r"|assert\w*|eval\w*|valid\w*|predict\w*|infer\w*|generat\w*|sampl\w*|decod\w*|search|main|demo|example|bench\w*"
    r"|profil\w*|debug\w*|convert\w*|find\w*|dump\w*|write\w*|read\w*|epoch|collect|extract\w*|embed\w*|encod\w*|get|set"
    r"|numpy|np|list|dict|state|size|len|select|choose|act|actions?|policy|stop\w*|rank\w*|fit|run|train|prepare|preprocess|postprocess|analy[sz]e\w*"
    r"|explain\w*|attribut\w*|interpret\w*|parse\w*|format\w*|transform\w*|download|quanti[sz]e\w*|prune\w*"
    r"|merge\w*|track\w*|detect\w*|transcrib\w*|synthes\w*|invert|call)(_|$)|^__|_$|^_?(from|to)_",
    re.IGNORECASE,
)
"""In names of functions that run once, or whose readers want Python's values."""


_OF_MASKS = re.compile(r"(^|_)masks?(_|$)")
"""… though not of those that make what each batch has of its own: `get_mask_from_lengths`."""


def is_operation(module: Module, node: Function) -> bool:
    """Whether it is a pass of an operation with a gradient of its own."""
    holder = module.class_of(node) if node.name in _PASSES else None
    return holder is not None and has_own_gradient(module, holder)


def has_own_gradient(module: Module, holder: ast.ClassDef) -> bool:
    """Whether a class is an operation with a gradient of its own."""
    return any(module.qualified(base) in _OPERATIONS for base in holder.bases)


def is_optimizer_step(project: "Project", module: Module, node: Function) -> bool:
    """Whether it is the step of an optimizer that the project writes."""
    holder = module.class_of(node) if node.name == "step" else None
    return holder is not None and any(
        _OPTIMIZER.search(each) for each in project.flow.bases(Definition(module, holder))
    )


def is_average_update(module: Module, node: Function) -> bool:
    """Whether it brings an average of a model's weights up to date: it needs to be handed nothing for that."""
    holder = module.class_of(node) if node.name in {"update", "step"} else None
    return holder is not None and _AVERAGES.search(holder.name) is not None


_AVERAGES = re.compile(r"EMA|Ema(?![a-z])|Averag|Polyak|Swa(?![a-z])|SWA")


def computes(module: Module, node: Function) -> bool:
    """Whether a function computes with tensors that it is handed, as far as its code tells."""
    if _ELSEWHERE.search(node.name) and not _OF_MASKS.search(node.name):
        return False
    names = {each.arg for each in named_arguments(node)} - {"self", "cls"}
    return bool(names) and _takes_tensors(module, node, names) and not _goes_through_data(module, node)


def _goes_through_data(module: Module, node: Function) -> bool:
    """Whether a loop of its own goes through batches or epochs: it is no part of a turn, but around them."""
    over = [each.iter for each in module.within(node, ast.For)]
    over += [each.test for each in module.within(node, ast.While)]
    return any(_DATA.search(code_of(each)) for each in over)


_DATA = re.compile(r"loader|epoch|batches|max_?iter|n_?iter|num_?iter|steps")


def takes_any(node: Function) -> bool:
    """Whether a call hands anything over, besides the instance."""
    named = {each.arg for each in named_arguments(node)}
    return bool(named - {"self", "cls"}) or node.args.vararg is not None or node.args.kwarg is not None


def is_part_of_module(project: "Project", module: Module, node: Function) -> bool:
    """Whether it is a method of a module that is handed something, no part of its pass, its making or its looks."""
    holder = module.class_of(node)
    if holder is None or node.name.startswith("__") or _MAKING.search(node.name) or not takes_any(node):
        return False
    passes = (each for each in holder.body if isinstance(each, Function) and each.name == "forward")
    if any(node.name in module.called_in(each) for each in passes):
        return False
    return project.flow.is_module(Definition(module, holder))


_MAKING = re.compile(
    r"(^|_)(init\w*|reset\w*|build|setup|load\w*|save\w*|export\w*|configure|register|make|create|plot\w*|draw\w*"
    r"|show\w*|print\w*|repr|extra|convert\w*|state|cuda|cpu|generat\w*|sampl\w*|search|translate|transcribe|epoch|fit)(_|$)|^_?(from|to)_"
)
"""In names of methods that make, keep or show a module, or use it for somebody who wants Python's values."""

OF_ANSWERS = re.compile(r"pred|label|answer|eval|valid|(?<![a-z])test|infer|metric|scor|accura|decod|format|post_?proc")
"""In names of methods that make of what a module gives what is compared or shown."""


def _takes_tensors(module: Module, node: Function, names: set[str]) -> bool:
    """Whether arguments are annotated as tensors, asked for what tensors alone have, or handed to PyTorch."""
    if any(_is_tensor(module, each) for each in named_arguments(node)):
        return True
    asked = (each.value for each in module.within(node, ast.Attribute) if each.attr in _OF_TENSORS)
    if any(isinstance(each, ast.Name) and each.id in names for each in asked):
        return True
    calls = (each for each in module.calls_of(node) if (module.qualified(each.func) or "").startswith("torch."))
    return any(isinstance(arg, ast.Name) and arg.id in names for each in calls for arg in each.args)


_OF_TENSORS = frozenset({"device", "is_cuda", "requires_grad", "grad"})


def _is_tensor(module: Module, argument: ast.arg) -> bool:
    return argument.annotation is not None and (module.qualified(argument.annotation) or "").endswith("Tensor")
