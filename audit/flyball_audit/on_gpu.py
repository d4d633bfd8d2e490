"""Conditions that ask whether there is a GPU: what is found is about runs that have one."""

import ast
import re

from flyball_audit.names import code_of

_ASKED = re.compile(
    r"^([\w.]+\.)?(is_cuda|((use|using|is|has|have|with|on|enable)_)?(cuda|gpu)(_available)?)$", re.IGNORECASE
)
"""Flags, and properties of tensors and devices: `use_cuda`, `args.gpu`, `x.is_cuda`."""

_ASKS = re.compile(r"(^|\.)(cuda|accelerator|xpu)\.is_available$")
_NAMED = re.compile(r"cuda|gpu", re.IGNORECASE)


def on_gpu(test: ast.expr) -> bool | None:
    """Whether a condition holds for certain where there is a GPU, or for certain not; None if it asks anything else."""
    if isinstance(test, ast.Name | ast.Attribute):
        return True if _ASKED.search(code_of(test)) else None
    if isinstance(test, ast.Call):
        return _asks(test)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compares(test.left, test.ops[0], test.comparators[0])
    return None


def _asks(call: ast.Call) -> bool | None:
    """`torch.cuda.is_available()`, `device.startswith("cuda")`."""
    called = code_of(call.func)
    if called.endswith(".startswith") and call.args:
        return _is_meant(call.args[0])
    return True if _ASKS.search(called) else None


def _compares(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> bool | None:
    """`device == "cuda"`, `device.type != "cpu"`, `"cuda" in str(device)`."""
    if isinstance(operator, ast.In | ast.NotIn):
        left, right = right, left
    meant = _is_meant(right)
    if meant is None or not isinstance(operator, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
        return None
    return meant is isinstance(operator, ast.Eq | ast.In)


def _is_meant(device: ast.expr) -> bool | None:
    """Whether what stands there names a GPU, or the host; None if it is no name of a device."""
    if isinstance(device, ast.Call) and code_of(device.func) in {"torch.device", "device"} and device.args:
        device = device.args[0]
    if not isinstance(device, ast.Constant) or not isinstance(device.value, str):
        return None
    return True if _NAMED.match(device.value) else False if device.value == "cpu" else None
