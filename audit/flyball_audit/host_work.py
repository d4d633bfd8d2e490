"""What only the host can work on: where a whole tensor has to come over because no kernel takes it."""

import ast
import re

from flyball_audit.module import last_name
from flyball_audit.regions import Region
from flyball_audit.steering import named_where_read

_PRIORITIES = re.compile(r"(^|_)priorit(y|ies)(_|$)")
_ON_HOST = re.compile(r"(^|_)(priorit(y|ies)|rewards?)(_|$)")
"""In names of functions and entries: what draws from a buffer, or says what an action was worth, is no kernel."""

_SENDING = re.compile(r"^(send\w*|dumps?|jsonify)$")
"""Functions that hand values to another process."""

_LIBRARIES = ("sklearn.", "scipy.", "cv2.", "skimage.", "PIL.", "pandas.", "networkx.", "matplotlib.", "faiss.")
"""What takes arrays alone, by the beginning of its full name."""


def feeds_host(region: Region, node: ast.expr) -> bool:
    """Whether a value goes where only the host has what works on it: a reward, a message, a library of arrays."""
    below: ast.AST = node
    for above in region.module.ancestors(node):
        if isinstance(above, ast.stmt):
            names = frozenset(named_where_read(region, node))
            return any(map(_PRIORITIES.search, names)) or _is_handed_on(region, names)
        if isinstance(above, ast.Call) and (_works_on_host(region, above) or _asks_for_it(above, below)):
            return True
        keyed = zip(above.keys, above.values, strict=True) if isinstance(above, ast.Dict) else ()
        if any(value is below and isinstance(key, ast.Constant) and _ON_HOST.search(str(key.value))
               for key, value in keyed):  # fmt: skip
            return True
        below = above
    return False


def _asks_for_it(call: ast.Call, below: ast.AST) -> bool:
    return below in call.args and _ON_HOST.search(last_name(call)) is not None


def _works_on_host(region: Region, call: ast.Call) -> bool:
    """Whether a call sends what it is handed, or belongs to a library of arrays, also through what that made."""
    if _SENDING.search(last_name(call)):
        return True
    held: ast.expr = call
    while isinstance(held, ast.Call | ast.Attribute):
        if isinstance(held, ast.Call) and (region.module.qualified(held.func) or "").startswith(_LIBRARIES):
            return True
        held = held.func if isinstance(held, ast.Call) else held.value
    return False


def _is_handed_on(region: Region, names: frozenset[str]) -> bool:
    """Whether what a value is called is handed to such a call."""
    if not names:
        return False
    calls = (call for call in region.all(ast.Call) if any(_is_named(each, names) for each in call.args))
    return any(_works_on_host(region, call) for call in calls)


def _is_named(node: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names
