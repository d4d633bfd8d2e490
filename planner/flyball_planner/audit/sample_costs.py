"""What a sample of a loader costs the process that makes it, and whether several processes may share the work."""

from typing import TYPE_CHECKING

from flyball_planner.audit.flow.values import Tag, Value
from flyball_planner.audit.loaders import Loader
from flyball_planner.audit.module import last_name

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project


def streams(project: "Project", loader: Loader) -> bool:
    """Whether it reads a stream, which several workers would each read whole, unless the data set shares it out."""
    own = loader.dataset_class
    iterable = own is not None and any(each.endswith("IterableDataset") for each in project.flow.bases(own))
    return iterable or loader.constant("batch_size") is None


_CHEAP_CALLS = frozenset({
    "len", "int", "float", "slice", "tensor", "as_tensor", "from_numpy", "long", "float32", "clone", "astype",
    "to", "copy", "range", "min", "max", "dict", "list", "tuple", "int64", "type", "reshape", "view",
    "unsqueeze", "squeeze", "permute", "transpose", "numel", "size", "isinstance", "IndexError", "randint",
    "contiguous", "stack", "IntTensor", "LongTensor", "FloatTensor", "Tensor", "item", "tolist", "narrow",
    "select", "flatten", "array", "asarray", "bool", "narrow_copy", "numpy", "index_select",
})  # fmt: skip
"""Calls in `__getitem__` that take microseconds."""


def costs_little(project: "Project", loader: Loader) -> bool:
    """Whether a sample is a slice of what already lies in memory, or what is loaded is a list or a tensor."""
    if loader.dataset_made_by in {"torch.utils.data.TensorDataset", "builtins.range"} or _is_in_memory(loader.dataset):
        return True
    own = loader.dataset_class
    if own is None:
        return False
    for name in ("__getitem__", "__getitems__", "__iter__"):
        method = project.flow.method(own, name)
        if method is not None:
            return all(last_name(each) in _CHEAP_CALLS for each in method.module.calls_of(method.node))
    return False


def _is_in_memory(dataset: Value) -> bool:
    """Whether a tensor, or a list of what is known, is loaded; a part of a data set is none."""
    if dataset.has(Tag.DATASET):
        return False
    if dataset.items is not None or dataset.tags & {Tag.TENSOR, Tag.DEVICE, Tag.HOST}:
        return True
    return dataset.element is not None and not dataset.element.is_unknown and dataset.definition is None
