"""What a sample of a loader costs the process that makes it, and whether several processes may share the work."""

import re
from typing import TYPE_CHECKING

from flyball_audit.flow.values import Tag, Value
from flyball_audit.loaders import Loader
from flyball_audit.mentions import DEVICE
from flyball_audit.module import Function, last_name
from flyball_audit.names import code_of
from flyball_audit.regions import Region, reached

if TYPE_CHECKING:
    from flyball_audit.project import Project


def streams(project: "Project", loader: Loader) -> bool:
    """Whether it reads a stream, which several workers would each read whole, unless the data set shares it out."""
    own = loader.dataset_class
    iterable = own is not None and any(each.endswith("IterableDataset") for each in project.flow.bases(own))
    return iterable or loader.constant("batch_size") is None


def fetches_rows(project: "Project", loader: Loader) -> bool:
    """Whether rows of arrays in host memory are fetched, and put together, one after the other, by Python."""
    own = loader.dataset_class
    if lies_on_device(project, loader) or streams(project, loader):
        return False
    if own is None:
        return loader.dataset_made_by == "torch.utils.data.TensorDataset"
    return any(project.flow.method(own, name) is not None for name in ("__getitem__", "__getitems__"))


def lies_on_device(project: "Project", loader: Loader) -> bool:
    """Whether the items lie on the device already: workers cannot reach them, and pinning them raises an error."""
    if loader.dataset.has(Tag.DEVICE):
        return True
    own = loader.dataset_class
    if own is None:
        made = loader.dataset.made_at
        return made is not None and any(project.flow.value(made[0], each).has(Tag.DEVICE) for each in made[1].args)
    item = project.flow.method_result(loader.dataset, "__getitem__")
    on_device = item is not None and any(each.has(Tag.DEVICE) for each in (item, *(item.items or ())))
    return on_device or bool(DEVICE.search(_MOVING_NOTHING.sub("", code_of(own.node))))


_MOVING_NOTHING = re.compile(r"torch\.cuda\.(empty_cache|is_available|device_count|synchronize)\(\)")
"""What a data set may say of a device, of which its items know nothing."""


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
    if loader.dataset_made_by in {"torch.utils.data.TensorDataset", "builtins.range"}:
        return True
    if _is_in_memory(loader.dataset):
        return not _GRAPHS.match(loader.module.qualified(loader.call.func) or "")
    own = loader.dataset_class
    if own is None:
        return False
    for name in ("__getitem__", "__getitems__", "__iter__"):
        method = project.flow.method(own, name)
        if method is not None:
            calls = method.module.calls_of(method.node)
            return all(last_name(each) in _CHEAP_CALLS for each in calls) and not _collates_files(project, loader)
    return False


def _collates_files(project: "Project", loader: Loader) -> bool:
    """Whether batches are put together of what is read, or turned into tokens, then."""
    function = dict(loader.values)["collate_fn"].definition if loader.argument("collate_fn") is not None else None
    if function is None or not isinstance(function.node, Function):
        return False
    regions = reached(project, Region(function.module, function.node))
    return any(_READING.search(name) for each in regions for name in each.called)


_READING = re.compile(r"^(read|load|imread|open|decode|tokeni[sz]e|encode)(_\w+)?$|^get_(wav|image|audio|spec)\w*$")
"""In names of calls that take longer than putting together what is there."""


_GRAPHS = re.compile(r"(torch_geometric|dgl)\.")
"""Whose loaders join graphs to a large one, or sample neighbours: work, though all lies in memory."""


def _is_in_memory(dataset: Value) -> bool:
    """Whether a tensor, or a list of what is known, is loaded; a part of a data set is none."""
    if dataset.has(Tag.DATASET):
        return False
    if dataset.items is not None or dataset.tags & {Tag.TENSOR, Tag.DEVICE, Tag.HOST}:
        return True
    if dataset.fields:  # what is kept of the arguments of a call that nobody knows
        return False
    return dataset.element is not None and not dataset.element.is_unknown and dataset.definition is None
