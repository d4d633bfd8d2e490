"""What a function's arguments are: from one call, from all calls in the project, or by annotation and name."""

import ast
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition, method_of
from flyball_audit.flow.callees import is_static
from flyball_audit.flow.handed import Arguments, handed, joined_arguments
from flyball_audit.flow.library import annotated
from flyball_audit.flow.values import ON_DEVICE, UNKNOWN, Tag, Value, join_all
from flyball_audit.given import default_of
from flyball_audit.module import Function, Module
from flyball_audit.names import code_of

if TYPE_CHECKING:
    from flyball_audit.flow.engine import Flow

Callable = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

MOST_CALLS = 12
"""Calls of a function that are looked at for what its arguments are."""


def bind(flow: "Flow", module: Module, node: Callable, owner: Value | None, given: Arguments) -> dict[str, Value]:
    """The variables that a function begins with in a call."""
    arguments = node.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    env: dict[str, Value] = {}
    if owner is not None and names and not is_static(node):
        env[names.pop(0)] = owner
    env.update(zip(names, given.positional, strict=False))
    known = {*names, *(each.arg for each in arguments.kwonlyargs)}
    env.update((name, value) for name, value in given.keywords if name in known)
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if env.get(each.arg, UNKNOWN) == UNKNOWN:
            env[each.arg] = supposed(flow, module, node, each)
    if arguments.vararg is not None:
        rest = given.positional[len(names) :]
        env[arguments.vararg.arg] = Value(element=join_all(rest)) if rest else UNKNOWN
    if arguments.kwarg is not None:
        env[arguments.kwarg.arg] = UNKNOWN
    return env


def default_environment(
    flow: "Flow", module: Module, node: Callable, owner: Value | None, *, ask: bool
) -> dict[str, Value]:
    """The variables that a function begins with, over all calls of it, if those may be asked."""
    asked = ask and _takes_any(node, owner)
    sites = _sites(flow, module, node) if asked and not isinstance(node, ast.Lambda) else []
    given = joined_arguments(sites) if sites else Arguments((), (), complete=False)
    return bind(flow, module, node, owner, given)


def supposed(flow: "Flow", module: Module, node: Callable, argument: ast.arg) -> Value:
    """What an argument is of which no call tells anything: by its annotation, then its name."""
    if argument.annotation is not None:
        name = _annotation(module, argument.annotation)
        own = flow.project.find(name)
        if own is not None and isinstance(own.node, ast.ClassDef):
            return flow.instance_of(own)
        said = annotated(name)
        if said != UNKNOWN and not (_is_forward(flow, module, node) and said.has(Tag.TENSOR)):
            return said
    if _is_forward(flow, module, node):
        return _of_forward(node, argument)
    return flow.guesses.of(module, argument.arg) if flow.uses_torch(module) else UNKNOWN


def _annotation(module: Module, node: ast.expr) -> str:
    if isinstance(node, ast.BinOp):  # Tensor | None
        return _annotation(module, node.left)
    if isinstance(node, ast.Subscript) and (module.qualified(node.value) or "").endswith("Optional"):
        return _annotation(module, node.slice)
    return module.qualified(node) or ""


def _is_forward(flow: "Flow", module: Module, node: Callable) -> bool:
    """Whether tensors on the device come in: the forward of an nn.Module."""
    if not isinstance(node, Function) or node.name != "forward":
        return False
    owner = flow.owner(module, node)
    return owner is not None and owner.has(Tag.MODEL)


def _of_forward(node: Callable, argument: ast.arg) -> Value:
    """An argument of forward: a tensor on the device, unless its annotation or default says that it is a setting."""
    if argument.annotation is not None and "Tensor" not in code_of(argument.annotation):
        return UNKNOWN
    if argument.annotation is None and default_of(node, argument.arg) is not None:
        return UNKNOWN
    return ON_DEVICE.tagged(Tag.GRAPH) if argument.annotation is not None else _FORWARDED


_FORWARDED = ON_DEVICE.tagged(Tag.GRAPH, Tag.SUPPOSED)
"""Without an annotation it may be a list of tensors, a number, a shape."""


def _takes_any(node: Callable, owner: Value | None) -> bool:
    """Whether a call hands anything over, besides the instance."""
    arguments = node.args
    own = 1 if owner is not None and not is_static(node) else 0
    named = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
    return named > own or arguments.vararg is not None


def _sites(flow: "Flow", module: Module, node: Function) -> list[Arguments]:
    """What the project's calls of a function hand over."""
    holder = module.class_of(node)
    names = flow.heirs(holder.name, module) if holder is not None and node.name == "__init__" else [node.name]
    calls = [each for name in names for each in flow.callers(name, module)]
    same = {node, *_overridden(flow, module, node)}
    found: list[Arguments] = []
    for caller, call in calls:
        if len(found) == MOST_CALLS:
            break
        reaches = _may_reach(flow, caller, module) or len(same) > 1
        if reaches and not same.isdisjoint(_called(flow, caller, call)) and flow.comes_to(caller, call):
            found.append(_handed(flow, caller, call))
    return found


def _overridden(flow: "Flow", module: Module, node: Function) -> list[ast.AST]:
    """The methods of a class's bases in whose place one stands: whoever calls those may run it."""
    holder = module.class_of(node)
    if holder is None or node.name.startswith("__"):
        return []
    bases = flow.lineage(Definition(module, holder))[1:]
    found = (method_of(each.node, node.name) for each in bases if isinstance(each.node, ast.ClassDef))
    return [each for each in found if each is not None]


def _may_reach(flow: "Flow", caller: Module, module: Module) -> bool:
    """Only a file that imports another calls what that defines."""
    return caller is module or module in flow.project.imports_of(caller)


def _called(flow: "Flow", caller: Module, call: ast.Call) -> list[ast.AST]:
    return [each.node for each in flow.callees(caller, call)]


def _handed(flow: "Flow", caller: Module, call: ast.Call) -> Arguments:
    values = tuple([flow.value(caller, each) for each in call.args])
    return handed(call, values, tuple([(each.arg or "", flow.value(caller, each.value)) for each in call.keywords]))
