"""Where autograd's history is off."""

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.given import is_constant
from flyball_audit.module import Function, Module
from flyball_audit.names import code_of

if TYPE_CHECKING:
    from flyball_audit.flow.engine import Flow

NO_GRAD = frozenset({
    "torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode",
})  # fmt: skip


def stops_history(module: Module, context: ast.expr) -> bool:
    """Whether a context or decorator turns autograd's history off."""
    called = context.func if isinstance(context, ast.Call) else context
    name = module.qualified(called)
    told = context.args[0] if isinstance(context, ast.Call) and context.args else None
    if name == "torch.set_grad_enabled":
        return is_constant(told, False)
    asks = name in {"torch.inference_mode", "torch.autograd.inference_mode"}  # which takes the mode as its argument
    return name in NO_GRAD and not (asks and is_constant(told, False))


def _choices_of(module: Module, context: ast.expr) -> Iterator[ast.expr]:
    """A context, the arms of one that is chosen, and what its variable was given: `context = no_grad() if … else …`."""
    yield context
    if isinstance(context, ast.IfExp):
        yield from (context.body, context.orelse)
    elif isinstance(context, ast.Name):
        for each in module.within(module.scope_of(context), ast.Assign):
            if any(isinstance(target, ast.Name) and target.id == context.id for target in each.targets):
                yield from _choices_of(module, each.value) if not isinstance(each.value, ast.Name) else ()


def goes_without_history(flow: "Flow", module: Module, over: ast.expr) -> bool:
    """Whether a loop goes through one of the project's generators that turns history off while it gives."""
    own = flow.callees(module, over) if isinstance(over, ast.Call) else ()
    return any(_yields_without_history(each.module, each.node) for each in own)


def turns_off(flow: "Flow", module: Module, context: ast.expr) -> bool:
    """Whether a context turns history off, also one of the project's own, or may if it is chosen."""
    if any(stops_history(module, each) for each in _choices_of(module, context)):
        return True
    own = flow.callees(module, context) if isinstance(context, ast.Call) else ()
    if not own:
        return is_named_off(module, context)
    return any(stops_history(each.module, call) for each in own for call in each.module.calls_of(each.node))


def is_named_off(module: Module, context: ast.expr) -> bool:
    """Whether a context of which nobody knows what it does is called after turning history off: `inference(model)`."""
    called = context.func if isinstance(context, ast.Call) else context
    known = (module.qualified(called) or "").startswith("torch.")
    return not known and _NAMED_OFF.search(code_of(called)) is not None


def _yields_without_history(module: Module, function: ast.AST) -> bool:
    """Whether a generator turns history off while it gives: it stays off for the body of the loop that takes."""
    given = (*module.within(function, ast.Yield), *module.within(function, ast.YieldFrom))
    contexts = [each for each in module.within(function, ast.With) if _stops(module, each)]
    return any(above in contexts for each in given if contexts for above in module.ancestors(each))


def _stops(module: Module, block: ast.With) -> bool:
    return any(stops_history(module, each.context_expr) for each in block.items)


_NAMED_OFF = re.compile(
    r"inference|(no|without|disable[ds]?|stop(ped)?)_?grad|grad(ients?)?_?(off|disabled)", re.IGNORECASE
)


def calls_of_partials(flow: "Flow", module: Module, function: Function) -> Iterator[tuple[Module, ast.Call]]:
    """Where variables are called that hold a function with some of its arguments: `run = partial(evaluate, model)`."""
    for caller, made, calls in flow.partials(module):
        held = flow.value(caller, made.args[0]).definition
        if held is not None and held.node is function:
            yield from ((caller, each) for each in calls)
