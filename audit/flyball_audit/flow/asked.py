"""What conditions say of a variable: `isinstance(loss, torch.Tensor)`; where it is none, it lies on the host."""

import ast

from flyball_audit.flow.frames import Frame
from flyball_audit.flow.values import ON_HOST, TENSOR, UNKNOWN, Tag, Value
from flyball_audit.names import code_of

Known = dict[str, Value]


def known_by(frame: Frame, test: ast.expr) -> tuple[Known, Known]:
    """What variables are where a condition holds, and where it does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        holds, fails = known_by(frame, test.operand)
        return fails, holds
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        together: Known = {}
        for each in test.values:
            together |= known_by(frame, each)[0]
        return together, {}
    number = _number(test)
    if number is not None:
        return {number: ON_HOST}, {}
    tensor = _tensor(test)
    if tensor is None:
        return {}, {}
    return ({tensor: TENSOR} if _may_be_any(frame, tensor) else {}), {tensor: ON_HOST}


def forget(env: Known, known: Known, before: Known) -> None:
    """Behind the branch a variable is what it was, if nothing made it another: what it asked for is no news there."""
    for name, value in known.items():
        if value is TENSOR and env.get(name) is TENSOR:
            if name in before:
                env[name] = before[name]
            else:
                del env[name]


def _may_be_any(frame: Frame, name: str) -> bool:
    """Whether nothing is known of a variable, or that it is a number, as sums are before anything is added."""
    value = frame.env.get(name, UNKNOWN)
    return value.is_unknown or value.tags == _NUMBER


_NUMBER = frozenset({Tag.HOST})


def _tensor(test: ast.expr) -> str | None:
    """The variable of which a condition asks whether it is a tensor, or has a method that tensors have."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.Eq):
        return _asked(test.left) if _is_of(test.left, "type") and _is_tensor(test.comparators[0]) else None
    if _is_of(test, "torch.is_tensor"):
        return _asked(test)
    if not isinstance(test, ast.Call) or len(test.args) != 2:
        return None
    if _is_of(test, "hasattr"):
        method = test.args[1]
        return _asked(test) if isinstance(method, ast.Constant) and method.value in _METHODS else None
    return _asked(test) if _is_of(test, "isinstance") and _is_tensor(test.args[1]) else None


_METHODS = frozenset({"item", "detach", "cpu"})


def _is_tensor(kind: ast.expr) -> bool:
    return code_of(kind) in {"torch.Tensor", "Tensor", "th.Tensor"}


_NUMBERS = frozenset({"float", "int", "bool", "str", "(float, int)", "(int, float)", "float | int", "int | float"})


def _number(test: ast.expr) -> str | None:
    """The variable of which a condition asks whether it is a number."""
    if not isinstance(test, ast.Call) or len(test.args) != 2 or not _is_of(test, "isinstance"):
        return None
    return _asked(test) if code_of(test.args[1]) in _NUMBERS else None


def _is_of(test: ast.expr, function: str) -> bool:
    return isinstance(test, ast.Call) and bool(test.args) and code_of(test.func) == function


def _asked(test: ast.expr) -> str | None:
    asked = test.args[0] if isinstance(test, ast.Call) else None
    return asked.id if isinstance(asked, ast.Name) else None
