"""Of loops that stand one in the other: those of which each turn is one batch."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence

from flyball_audit.index import names_below
from flyball_audit.module import Module
from flyball_audit.names import code_of
from flyball_audit.regions import Root
from flyball_audit.walks import gone_through

GivesBatches = Callable[[Module, ast.AST], bool]
"""Whether each turn of a loop takes a batch."""


def over_batches(loops: Mapping[Root, Module], gives_batches: GivesBatches) -> frozenset[Root]:
    """The loops that are told of: epochs give way to what they repeat, parts of a batch to the loop over batches."""
    around = {each: [above for above in module.ancestors(each) if above in loops] for each, module in loops.items()}
    parts = {
        each
        for each, above in around.items()
        if above and (_is_part_of_batch(each, above) or not _takes_batches(each, loops[each], gives_batches))
        and any(gives_batches(loops[each], outer) for outer in above)
    }  # fmt: skip
    held = {outer for each, above in around.items() if each not in parts for outer in above}
    return frozenset(each for each, above in around.items() if each not in parts and (above or each not in held))


def _is_part_of_batch(node: ast.AST, above: Sequence[ast.AST]) -> bool:
    """Whether a loop goes through an entry of what one around it takes each turn: `enumerate(data["name"])`."""
    over = gone_through(node) if isinstance(node, ast.For | ast.AsyncFor) else None
    if not isinstance(over, ast.Subscript) or not isinstance(over.slice, ast.Constant):
        return False
    targets = {name for each in above if isinstance(each, ast.For | ast.AsyncFor) for name in names_below(each.target)}
    return isinstance(over.value, ast.Name) and over.value.id in targets


def _takes_batches(node: Root, module: Module, gives_batches: GivesBatches) -> bool:
    return gives_batches(module, node) and not (isinstance(node, ast.For) and _COUNTED.search(code_of(node.iter)))


_COUNTED = re.compile(r"^range\((\w+\.)*(\w+\.(shape\[\d\]|size\(\d\))|batch_size|len\(batch\))\)$")
"""Goes through the elements of one batch, or along its sequences."""
