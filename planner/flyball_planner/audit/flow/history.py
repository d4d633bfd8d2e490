"""Where autograd's history is off."""

import ast

from flyball_planner.audit.module import Module

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
