"""Where autograd's history is off."""

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_planner.audit.module import Function, Module
from flyball_planner.audit.names import code_of

if TYPE_CHECKING:
    from flyball_planner.audit.flow.engine import Flow

NO_GRAD = frozenset({
    "torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode",
})  # fmt: skip


def stops_history(module: Module, context: ast.expr) -> bool:
    """Whether a context or decorator turns autograd's history off."""
    called = context.func if isinstance(context, ast.Call) else context
    name = module.qualified(called)
    if name == "torch.set_grad_enabled" and isinstance(context, ast.Call) and context.args:
        given = context.args[0]
        return isinstance(given, ast.Constant) and given.value is False
    if (
        name in {"torch.inference_mode", "torch.autograd.inference_mode"}
        and isinstance(context, ast.Call)
        and context.args
    ):
        given = context.args[0]
        return not (isinstance(given, ast.Constant) and given.value is False)
    return name in NO_GRAD


def is_named_off(module: Module, context: ast.expr) -> bool:
    """Whether a context of which nobody knows what it does is called after turning history off: `inference(model)`."""
    called = context.func if isinstance(context, ast.Call) else context
    known = (module.qualified(called) or "").startswith("torch.")
    return not known and _NAMED_OFF.search(code_of(called)) is not None


_NAMED_OFF = re.compile(
    r"inference|(no|without|disable[ds]?|stop(ped)?)_?grad|grad(ients?)?_?(off|disabled)", re.IGNORECASE
)


def calls_of_partials(flow: "Flow", module: Module, function: Function) -> Iterator[tuple[Module, ast.Call]]:
    """Where variables are called that hold a function with some of its arguments: `run = partial(evaluate, model)`."""
    for caller, made in flow.callers("partial", module):
        held = flow.value(caller, made.args[0]).definition if made.args else None
        statement = caller.statement(made)
        if held is None or held.node is not function or not isinstance(statement, ast.Assign):
            continue
        names = {each.id for each in statement.targets if isinstance(each, ast.Name)}
        for call in caller.calls_of(caller.scope_of(made)):
            if isinstance(call.func, ast.Name) and call.func.id in names:
                yield caller, call
