"""Runs a module's forward pass on shapes only. Needs torch."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.nn.parameter import is_lazy
from torch.utils._pytree import tree_leaves, tree_map

from flyball_planner.models.cost import ModelCost
from flyball_planner.trace.recording import Recorder
from flyball_planner.trace.traced_parts import cost_of
from flyball_reports.errors import InputError

ASSUMPTIONS = (
    "attention as torch runs it on a CPU: fused unless it has dropout or a mask",
    "dropout stores noise of the same width as its input, as on a CPU",
    "the loss is included only if the module computes it",
)


def traced_cost(module: torch.nn.Module | Callable[[], torch.nn.Module], inputs: Any, name: str) -> ModelCost:
    """Return the cost of a module, or of the one that a function builds."""
    built = module if isinstance(module, torch.nn.Module) else _built_without_weights(module)
    _refuse_unfinished(built)
    with FakeTensorMode(allow_non_fake_inputs=True), _plain_operators(), _quiet():
        weights = _weights_as_shapes(built)
        arguments, named = _inputs_as_shapes(inputs)
        recorder = Recorder(built, _samples((arguments, named)), list(weights.values()))
        _run(recorder, built, lambda: torch.func.functional_call(built, weights, arguments, named))
    return cost_of(
        recorder.parts(),
        model=name or type(built).__name__,
        implementation=f"torch {torch.__version__}, as written in its forward pass",
        assumptions=ASSUMPTIONS,
    )


def _run(recorder: Recorder, module: torch.nn.Module, forward: Callable[[], Any]) -> None:
    """Run the forward pass; failures are reported with the module's name."""
    name = type(module).__name__
    try:
        recorder.run(forward)
    except (DataDependentOutputException, DynamicOutputShapeException) as reason:
        raise InputError(
            f"the forward pass of {name} depends on values ({reason}): trace the part that does not, or pass inputs "
            "(such as masks) that avoid the dependence"
        ) from reason
    except Exception as reason:
        message = str(reason).strip().partition("\n")[0]
        raise InputError(
            f"{name} cannot run on inputs without values ({type(reason).__name__}: {message}): check that it accepts "
            "inputs of these shapes, or trace the part that only uses torch and needs no device"
        ) from reason


@contextmanager
def _plain_operators() -> Iterator[None]:
    """Disable oneDNN, so that a recurrent layer appears as its products and not as one unknown operator."""
    before: bool = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = False
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = before


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress torch's log of a failing operator, because the error itself is reported."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _built_without_weights(build: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    if not callable(build):
        raise InputError(f"expected a torch module or a function that builds one, not {build!r}")
    with torch.device("meta"):
        built = build()
    if not isinstance(built, torch.nn.Module):
        raise InputError(f"expected a function that builds a torch module, but it returned {built!r}")
    return built


def _refuse_unfinished(module: torch.nn.Module) -> None:
    """Refuse lazy modules, which have no shapes before their first pass."""
    lazy = [name for name, weight in module.named_parameters() if is_lazy(weight)]
    if lazy:
        raise InputError(
            f"{type(module).__name__} has lazy weights ({', '.join(lazy[:3])}) of unknown shape: "
            "run it once, or set the widths of its layers"
        )


def _weights_as_shapes(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return weights and buffers by name, on a CPU and without values; shared ones stay shared."""
    made: dict[int, torch.Tensor] = {}
    found: dict[str, torch.Tensor] = {}
    for name, weight in module.named_parameters(remove_duplicate=False):
        if id(weight) not in made:
            shape = torch.empty(weight.shape, dtype=weight.dtype)
            made[id(weight)] = torch.nn.Parameter(shape, requires_grad=weight.requires_grad)
        found[name] = made[id(weight)]
    for name, buffer in module.named_buffers(remove_duplicate=False):
        found[name] = made.setdefault(id(buffer), torch.empty(buffer.shape, dtype=buffer.dtype))
    return found


def _inputs_as_shapes(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and named arguments of the forward pass; a tensor that is passed twice stays one."""
    made: dict[int, torch.Tensor] = {}

    def as_shape(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return made.setdefault(id(value), torch.empty(value.shape, dtype=value.dtype))

    if isinstance(inputs, Mapping):
        return (), {name: tree_map(as_shape, value) for name, value in inputs.items()}
    given = inputs if isinstance(inputs, tuple | list) else (inputs,)
    return tuple(tree_map(as_shape, value) for value in given), {}


def _samples(inputs: Any) -> int:
    """Return the first dimension of the first tensor that has one."""
    for leaf in tree_leaves(inputs):
        if isinstance(leaf, torch.Tensor) and leaf.dim():
            return int(leaf.shape[0])
    raise InputError("the inputs contain no tensor: pass one whose first dimension is the samples")
