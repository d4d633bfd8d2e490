"""The cost of a torch module, from a forward pass that computes no numbers."""

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
    """Return the cost of one sample: parameters, FLOPs, and activations stored for the backward pass.

    `module` is a module, which may be on the meta device, or a function that builds one; then no weights are allocated.
    `inputs` are tensors as the module takes them (one, a tuple, or a mapping of keyword arguments) with samples as the
    first dimension. Their values do not matter, so meta tensors work. No GPU is needed or used.
    """
    if find_spec("torch") is None:
        raise InputError(
            "tracing a module needs torch (pip install torch); without torch, describe the model in a specification"
        )
    from flyball_planner.trace.shape_run import traced_cost  # noqa: PLC0415  torch is optional

    return traced_cost(module, inputs, name)
