"""Waits for how many or which elements there are: bounds, places, counts, memberships that the host must know."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.flow.values import UNKNOWN, Tag
from flyball_audit.index import nodes_below
from flyball_audit.module import last_name
from flyball_audit.names import is_name
from flyball_audit.readings import SUPPOSED, held, read, somewhere
from flyball_audit.regions import Region
from flyball_audit.wait import Wait

if TYPE_CHECKING:
    from flyball_audit.project import Project


def in_slices(project: "Project", region: Region) -> Iterator[Wait]:
    """Bounds that are tensors, or elements of what is supposed to be one; of other arguments they are numbers."""
    for part in region.all(ast.Slice):
        for bound in (part.lower, part.upper):
            value = read(project, region, bound) if bound is not None else None
            if bound is None or value is None:
                continue
            entries = (each.value for each in nodes_below(bound) if isinstance(each, ast.Subscript))
            if value.is_seen_tensor or any(read(project, region, each) for each in entries):
                yield Wait(bound, "the bound of a slice must be known on the host", value)


def in_indices(project: "Project", region: Region) -> Iterator[Wait]:
    """Which element of a list is meant: of a tensor, the device itself knows."""
    for part in region.all(ast.Subscript):
        if isinstance(part.slice, ast.Name) and isinstance(part.value, ast.Name):
            value = read(project, region, part.slice)
            if value is not None and value.is_seen_tensor and _is_list(region, part.value.id):
                yield Wait(part, "a list index must be known on the host", value)


def _is_list(region: Region, name: str) -> bool:
    """Whether the function around makes a list, and gives it that name."""
    scope = region.module.scope_of(region.root)
    given = [
        each.value for each in region.module.within(scope, ast.Assign) if any(is_name(to, name) for to in each.targets)
    ]
    return bool(given) and all(isinstance(each, ast.List | ast.ListComp) or _repeats_list(each) for each in given)


def _repeats_list(made: ast.expr) -> bool:
    """Whether it is `[0] * n` or `list(…)`."""
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult):
        return isinstance(made.left, ast.List) or isinstance(made.right, ast.List)
    return isinstance(made, ast.Call) and is_name(made.func, "list")


def in_counts(project: "Project", region: Region) -> Iterator[Wait]:
    """How many elements are not zero, or differ: only the device knows how long what `torch.nonzero` gives is."""
    found = (each for each in region.all(ast.Call) if last_name(each) in _COUNTED)
    for call in (each for each in found if _is_counted(region, each)):
        of_library = region.module.qualified(call.func) is not None
        whole = next(iter(call.args), None) if of_library else getattr(call.func, "value", None)
        value = held(project, region, whole) if whole is not None else None
        value = value or somewhere(project, region, call)
        if of_library and value.has(Tag.SUPPOSED):
            value = SUPPOSED  # PyTorch's own functions take nothing but tensors
        if value != UNKNOWN:
            yield Wait(call, "the number of elements found must be known on the host", value)


_COUNTED = frozenset({"nonzero", "argwhere", "unique"})
"""What gives as much as there is, which the values decide."""


def _is_counted(region: Region, found: ast.Call) -> bool:
    """Whether it is asked how long it is, at once or by the variable that holds it."""
    around = region.module.parent(found)
    if isinstance(around, ast.Assign) and len(around.targets) == 1 and isinstance(around.targets[0], ast.Name):
        asking = (*region.all(ast.Call), *region.all(ast.Attribute))
        return any(_asks_length(each, around.targets[0].id) for each in asking)
    return _asks_length(around, None)


def _asks_length(around: ast.AST | None, of: str | None) -> bool:
    """Whether it is `x.size`, `len(x)` and the like; of: of a variable of that name."""
    if isinstance(around, ast.Attribute):
        return around.attr in {"size", "shape", "numel"} and (of is None or is_name(around.value, of))
    if not isinstance(around, ast.Call) or last_name(around) != "len" or not around.args:
        return False
    return of is None or is_name(around.args[0], of)


def in_memberships(project: "Project", region: Region) -> Iterator[Wait]:
    """`index not in taken`, where that is a tensor: all its elements are compared, and the host asks for the answer."""
    for asked in region.all(ast.Compare):
        if isinstance(asked.ops[0], ast.In | ast.NotIn) and not isinstance(asked.left, ast.Constant):
            value = held(project, region, asked.comparators[0])
            if value is not None and value.has(Tag.TENSOR) and value.is_seen_tensor:
                yield Wait(asked, "the result of `in` must be known on the host", value)
