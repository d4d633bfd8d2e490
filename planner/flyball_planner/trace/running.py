"""Runs a module's forward pass on shapes alone; needs torch."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map

from flyball_planner.errors import PlanError
from flyball_planner.models.cost import ModelCost
from flyball_planner.trace.recording import Recorder
from flyball_planner.trace.traced import cost_of

ASSUMPTIONS = (
    "attention as torch runs it on a CPU: fused, unless it drops or masks scores",
    "dropout keeps noise as wide as its numbers, as on a CPU",
    "a loss is counted where the module computes it",
)


def traced_cost(module: torch.nn.Module | Callable[[], torch.nn.Module], inputs: Any, name: str) -> ModelCost:
    """The cost of a module, or of what a function builds."""
    built = module if isinstance(module, torch.nn.Module) else _built_without_weights(module)
    with FakeTensorMode(allow_non_fake_inputs=True):
        weights = _weights_as_shapes(built)
        arguments, named = _inputs_as_shapes(inputs)
        recorder = Recorder(built, _samples((arguments, named)), list(weights.values()))
        try:
            recorder.run(lambda: torch.func.functional_call(built, weights, arguments, named))
        except (DataDependentOutputException, DynamicOutputShapeException) as reason:
            raise PlanError(
                f"{type(built).__name__} decides by values, or makes shapes from them ({reason}): trace the part that "
                "does not, or pass inputs (such as masks) that spare it the decision"
            ) from reason
    return cost_of(
        recorder.parts(),
        model=name or type(built).__name__,
        implementation=f"torch {torch.__version__}, as its forward pass is written",
        assumptions=ASSUMPTIONS,
    )


def _built_without_weights(build: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    with torch.device("meta"):
        return build()


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
    """Positional and named arguments of the forward pass."""
    if isinstance(inputs, Mapping):
        return (), {name: tree_map(_as_shape, value) for name, value in inputs.items()}
    given = inputs if isinstance(inputs, tuple | list) else (inputs,)
    return tuple(tree_map(_as_shape, value) for value in given), {}


def _as_shape(value: Any) -> Any:
    return torch.empty(value.shape, dtype=value.dtype) if isinstance(value, torch.Tensor) else value


def _samples(inputs: Any) -> int:
    """The first dimension of the first tensor that has one."""
    for leaf in tree_leaves(inputs):
        if isinstance(leaf, torch.Tensor) and leaf.dim():
            return int(leaf.shape[0])
    raise PlanError("no tensor is among the inputs: pass one whose first dimension are the samples")
