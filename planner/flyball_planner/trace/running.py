"""Runs a module's forward pass on shapes alone; needs torch."""

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
from flyball_planner.trace.traced import cost_of
from flyball_reports.errors import InputError

ASSUMPTIONS = (
    "attention as torch runs it on a CPU: fused, unless it drops or masks scores",
    "dropout keeps noise as wide as its numbers, as on a CPU",
    "a loss is counted where the module computes it",
)


def traced_cost(module: torch.nn.Module | Callable[[], torch.nn.Module], inputs: Any, name: str) -> ModelCost:
    """The cost of a module, or of what a function builds."""
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
        implementation=f"torch {torch.__version__}, as its forward pass is written",
        assumptions=ASSUMPTIONS,
    )


def _run(recorder: Recorder, module: torch.nn.Module, forward: Callable[[], Any]) -> None:
    """Run the forward pass; what goes wrong in it is told by the module's name."""
    called = type(module).__name__
    try:
        recorder.run(forward)
    except (DataDependentOutputException, DynamicOutputShapeException) as reason:
        raise InputError(
            f"{called} decides by values, or makes shapes from them ({reason}): trace the part that "
            "does not, or pass inputs (such as masks) that spare it the decision"
        ) from reason
    except Exception as reason:
        said = str(reason).strip().partition("\n")[0]
        raise InputError(
            f"{called} cannot run on inputs without numbers ({type(reason).__name__}: {said}): check that it takes "
            "inputs of these shapes, and trace the part that neither leaves torch nor needs a device"
        ) from reason


@contextmanager
def _plain_operators() -> Iterator[None]:
    """Without oneDNN a recurrent layer is its products, not one operator of which nothing is known."""
    before: bool = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = False
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = before


@contextmanager
def _quiet() -> Iterator[None]:
    """What torch logs of an operator that fails is told by the error itself."""
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
        raise InputError(f"expected a function that builds a torch module; this one gave {built!r}")
    return built


def _refuse_unfinished(module: torch.nn.Module) -> None:
    """A lazy module has no shapes before its first pass."""
    lazy = [name for name, weight in module.named_parameters() if is_lazy(weight)]
    if lazy:
        raise InputError(
            f"{type(module).__name__} has lazy weights ({', '.join(lazy[:3])}) whose shapes are not known: "
            "run it once, or give its layers their widths"
        )


def _weights_as_shapes(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Weights and buffers by name, on a CPU and without numbers; what is shared stays shared."""
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
    """Positional and named arguments of the forward pass; a tensor that is given twice stays one."""
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
    """The first dimension of the first tensor that has one."""
    for leaf in tree_leaves(inputs):
        if isinstance(leaf, torch.Tensor) and leaf.dim():
            return int(leaf.shape[0])
    raise InputError("no tensor is among the inputs: pass one whose first dimension are the samples")
