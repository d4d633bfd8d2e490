"""The cost of any torch module, from one forward pass in which no number is computed."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from flyball_planner.models.cost import ModelCost
from flyball_reports.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


def trace_module(
    module: "torch.nn.Module | Callable[[], torch.nn.Module]", inputs: Any, *, name: str = ""
) -> ModelCost:
    """What one sample costs a module: parameters, FLOPs, and activations kept for the backward pass.

    `module` is a module, also one on the meta device, or a function that builds it; then no weights are ever allocated.
    `inputs` are tensors as the module takes them (one, a tuple, or a mapping of keyword arguments), first dimension the
    samples; their numbers do not matter, so meta tensors do. No GPU is needed and none is used.
    """
    if find_spec("torch") is None:
        raise InputError("tracing a module needs torch (pip install torch); without it, describe the model in a file")
    from flyball_planner.trace.running import traced_cost  # noqa: PLC0415  the rest of the planner does without torch

    return traced_cost(module, inputs, name)
