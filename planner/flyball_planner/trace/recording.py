"""Records every operator, stored tensor and boundary of a forward pass. Needs torch."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from flyball_planner.models.cost import Operator, OperatorKind
from flyball_planner.trace.traced_parts import TracedPart, part_names

NUMBER_BYTES = 2.0  # per number in `Operator.moved_bytes` of networks
GATHERS = frozenset({"embedding", "gather", "index", "index_select", "scatter", "index_add", "topk", "sort"})
WITHOUT_WORK = frozenset({"_unsafe_view", "empty", "empty_like", "zeros", "ones", "full", "arange", "scalar_tensor"})


class Recorder(TorchDispatchMode):
    """Records the work of each part of a module. Hooks identify the part, autograd the stored tensors."""

    def __init__(self, module: torch.nn.Module, batch: int, weights: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._module = module
        self._batch = batch
        self._parts = part_names(name for name, _ in module.named_modules() if name)
        self._stack: list[str] = []
        self._operators: dict[str, list[Operator]] = defaultdict(list)
        self._kept: dict[str, float] = defaultdict(float)
        self._boundaries: dict[str, float] = defaultdict(float)
        self._seen = {StorageWeakRef(weight.untyped_storage()) for weight in weights}
        self._number_bytes = min((weight.itemsize for weight in weights if weight.is_floating_point()), default=4)

    def run(self, forward: Callable[[], Any]) -> None:
        """Run the forward pass and record it."""
        with ExitStack() as hooks:
            for name, module in self._module.named_modules():
                if name and self._parts[name] == name:
                    hooks.callback(module.register_forward_pre_hook(self._entering(name)).remove)
                    hooks.callback(module.register_forward_hook(self._leaving(name)).remove)
            with torch.autograd.graph.saved_tensors_hooks(self._keep, lambda tensor: tensor), self:
                forward()

    def parts(self) -> list[TracedPart]:
        """Return the parts in the order in which they first ran; parts with unused parameters come last."""
        weights = self._parameters()
        ran = dict.fromkeys((*self._operators, *self._kept, *weights))
        return [
            TracedPart(
                path,
                weights.get(path, 0),
                tuple(self._operators[path]),
                self._kept[path] / self._batch,
                self._boundaries[path] / self._batch,
            )
            for path in ran
        ]

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run the operator and record it."""
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if func.namespace == "aten" and not func.is_view and name not in WITHOUT_WORK:
            operator = self._operator(func, name, args, kwargs or {}, result)
            if operator.flops or operator.moved_bytes:
                self._operators[self._stack[-1] if self._stack else ""].append(operator)
        return result

    def _operator(self, func: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Operator:
        if "scaled_dot_product" in name:
            return _attention(name, args, self._batch)
        given = [leaf for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)]
        moved = sum(leaf.numel() for leaf in (*given, *_tensors(result))) * NUMBER_BYTES / self._batch
        formula = flop_registry.get(func.overloadpacket)
        if formula is None:
            kind = OperatorKind.GATHER if name in GATHERS else OperatorKind.ELEMENTWISE
            return Operator(name, kind, 0.0, moved)
        flops = formula(*args, **kwargs, out_val=result) / self._batch
        if "conv" in name:
            return _convolution(name, args, result, flops, self._batch)
        return _product(name, given, flops, self._batch)

    def _keep(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = StorageWeakRef(tensor.untyped_storage())
        if storage not in self._seen:
            self._seen.add(storage)
            self._kept[self._stack[-1] if self._stack else ""] += tensor.untyped_storage().nbytes() / self._number_bytes
        return tensor

    def _entering(self, name: str) -> Callable[..., None]:
        def enter(*_: Any) -> None:
            self._stack.append(name)

        return enter

    def _leaving(self, name: str) -> Callable[..., None]:
        def leave(_module: torch.nn.Module, _given: Any, result: Any) -> None:
            self._stack.pop()
            self._boundaries[name] += sum(leaf.numel() for leaf in _tensors(result))

        return leave

    def _parameters(self) -> dict[str, int]:
        found: dict[str, int] = defaultdict(int)
        for name, weight in self._module.named_parameters():
            owner = name.rpartition(".")[0]
            found[self._parts.get(owner, "")] += weight.numel()
        return found


def _tensors(result: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def _attention(name: str, args: Sequence[Any], batch: int) -> Operator:
    """Return the operator; queries, keys and values are batch × heads × tokens × width."""
    queries, keys, values = args[:3]
    outer = queries.shape[:-1].numel() / batch
    flops = 2.0 * outer * keys.shape[-2] * (queries.shape[-1] + values.shape[-1])
    moved = NUMBER_BYTES * (2 * queries.numel() + keys.numel() + values.numel()) / batch
    return Operator(name.strip("_"), OperatorKind.ATTENTION, flops, moved)


def _product(name: str, given: Sequence[torch.Tensor], flops: float, batch: int) -> Operator:
    """Return the operator; rows grow with the samples, and batched products are divided among the samples."""
    left, right = given[-2:]
    times = left.shape[0] / batch if left.dim() == 3 else 1.0
    rows = left.shape[-2] / (1 if left.dim() == 3 else batch)
    inner, columns = left.shape[-1], right.shape[-1]
    moved = NUMBER_BYTES * (rows * inner + inner * columns + rows * columns)
    return Operator(
        name, OperatorKind.MATMUL, flops / times, moved, rows=rows, inner=inner, columns=columns, times=times
    )


def _convolution(name: str, args: Sequence[Any], result: Any, flops: float, batch: int) -> Operator:
    """Return the operator as a product over windows; rows are output positions, groups are side by side."""
    given, weight = args[:2]
    groups = args[8] if len(args) > 8 else 1
    moved = NUMBER_BYTES * (given.numel() + result.numel()) / batch
    return Operator(
        name,
        OperatorKind.CONVOLUTION,
        flops,
        moved,
        rows=result.numel() / result.shape[1] / batch * groups,
        inner=float(weight[0].numel()),
        columns=weight.shape[0] / groups,
    )
