"""Branches that nobody asks for: `if logging:` where the calls that lead there leave it off, an option's default."""

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.branches import before
from flyball_audit.given import default_of, handed_over, hides_arguments, is_constant, is_off
from flyball_audit.module import Function, Module
from flyball_audit.names import code_of
from flyball_audit.regions import Region

if TYPE_CHECKING:
    from flyball_audit.project import Project


def is_unasked(region: Region, node: ast.AST) -> bool:
    """Whether an argument on the way from a loop to a node is a constant that leaves the node out."""
    places = (*region.calls, (region.module, node))
    return any(
        _is_left_out(region, depth, module, place) for depth, (module, place) in enumerate(places) if depth
    )  # fmt: skip


def _is_left_out(region: Region, depth: int, module: Module, place: ast.AST) -> bool:
    function = module.function_of(place)
    if function is None:
        return False
    for asked, holds in _switches(module, place, function):
        given = _constant(region, depth, module, function, asked) if isinstance(asked, ast.Name) else None
        if given is not None and bool(given.value) is not holds:
            return True
    return False


def _constant(region: Region, depth: int, module: Module, function: Function, name: ast.Name) -> ast.Constant | None:
    """What an argument is in the call that leads to its function, handed on by those above it perhaps."""
    call = region.calls[depth - 1][1]
    named = (each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == name.id)
    if hides_arguments(call) or any(isinstance(each.ctx, ast.Store) for each in named):
        return None
    given = handed_over(function, call, name.id, bound=module.class_of(function) is not None)
    if isinstance(given, ast.Name) and depth > 1:
        caller = region.calls[depth - 1][0]
        around = caller.function_of(given)
        return _constant(region, depth - 1, caller, around, given) if around is not None else None
    return given if isinstance(given, ast.Constant) else None


def _switches(module: Module, node: ast.AST, root: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """What must hold, or must not, for a function to come to a node."""
    below: ast.AST = node
    for above in module.ancestors(node):
        if isinstance(above, ast.If) and below is not above.test:
            yield from _asked(above.test, holds=below in above.body)
        elif isinstance(above, ast.IfExp) and below is not above.test:
            yield from _asked(above.test, holds=below is above.body)
        elif isinstance(above, ast.BoolOp) and isinstance(below, ast.expr) and below in above.values:
            for part in above.values[: above.values.index(below)]:
                yield from _asked(part, holds=isinstance(above.op, ast.And))
        for each in before(above, below):
            if isinstance(each, ast.If) and not each.orelse and isinstance(each.body[-1], ast.Return | ast.Continue):
                yield from _asked(each.test, holds=False)
        if above is root:
            return
        below = above


def _asked(test: ast.expr, *, holds: bool) -> Iterator[tuple[ast.expr, bool]]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _asked(test.operand, holds=not holds)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
        for each in test.values:
            yield from _asked(each, holds=holds)
    elif isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Compare):
        yield test, holds


def is_off_by_default(project: "Project", region: Region, node: ast.AST) -> bool:
    """Whether an option of a class leads to a node that is off unless asked for, and no file asks for it."""
    return any(_is_option_off(project, module, place) for module, place in (*region.calls, (region.module, node)))


def is_off_setting(region: Region, node: ast.AST) -> bool:
    """Whether a setting whose default stands beside it leads to a node elsewhere: `if cfg.get("norms", False)`."""
    for module, place in (*region.calls, (region.module, node)):
        around = _switches(module, place, module.scope_of(place))
        if any(
            _holds_by_default(test) is (not holds) or (holds and _is_kept_off(module, test)) for test, holds in around
        ):
            return True
    return False


def _is_kept_off(module: Module, test: ast.expr) -> bool:
    """Whether an attribute is nothing but such a setting that is off: `self.norms = cfg.get("norms", False)`."""
    if not isinstance(test, ast.Attribute):
        return False
    said = code_of(test)
    given = [each.value for each in module.all(ast.Assign) if any(code_of(target) == said for target in each.targets)]
    defaults = [_default_beside(each) for each in given]
    return bool(given) and all(each is not None and not each.value for each in defaults)


def _holds_by_default(test: ast.expr) -> bool | None:
    """Whether a setting's default passes a test; None if that is unknown."""
    if not isinstance(test, ast.Compare):
        default = _default_beside(test)
        return bool(default.value) if default is not None else None
    default, other = _default_beside(test.left), test.comparators[0]
    if len(test.ops) > 1 or default is None or not isinstance(other, ast.Constant):
        return None
    if isinstance(test.ops[0], ast.Eq | ast.NotEq):
        return (default.value == other.value) is isinstance(test.ops[0], ast.Eq)
    if isinstance(test.ops[0], ast.Is | ast.IsNot):
        return (default.value is other.value) is isinstance(test.ops[0], ast.Is)
    return None


def _default_beside(node: ast.expr) -> ast.Constant | None:
    """The constant of `settings.get("name", constant)`, `getattr(settings, "name", constant)`."""
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    held = [node.func.value] if isinstance(node.func, ast.Attribute) and node.func.attr == "get" else []
    said = [*held, *node.args]
    if (not held and code_of(node.func) != "getattr") or len(said) != _WITH_DEFAULT:
        return None
    holder, _, default = said
    return default if isinstance(default, ast.Constant) and _SETTINGS.search(code_of(holder)) else None


_WITH_DEFAULT = 3
"""Settings, name, default."""

_SETTINGS = re.compile(
    r"(^|[._])(kw)?(args|cfg|config|conf|opts?|options|flags|hparams|hp|params|settings)$", re.IGNORECASE
)
"""Ends the name of what holds settings: a batch, or what a model gives, is asked for its parts in the same way."""


def is_optional(region: Region, node: ast.AST) -> bool:
    """Whether an argument leads to a node that is off unless a call of its function asks for it."""
    return any(_is_chosen(module, place) for module, place in (*region.calls, (region.module, node)))


def is_turn_optional(region: Region, node: ast.AST) -> bool:
    """The same of the function alone in which the loop stands; `is_unasked` knows what its turns call."""
    module, place = region.calls[0] if region.calls else (region.module, node)
    return _is_chosen(module, place)


def _is_chosen(module: Module, place: ast.AST) -> bool:
    function = module.function_of(place)
    asked = _switches(module, place, function) if function is not None else ()
    names = (each.id for each, holds in asked if holds and isinstance(each, ast.Name))
    return function is not None and any(is_constant(default_of(function, name), False) for name in names)


def _is_option_off(project: "Project", module: Module, place: ast.AST) -> bool:
    function = module.function_of(place)
    holder = module.class_of(function) if function is not None else None
    if function is None:
        return False
    named = [each for each, holds in _switches(module, place, function) if holds and not isinstance(each, ast.Compare)]
    if any(_SHOWS.search(code_of(each)) for each in named):
        return True
    if holder is None:
        return False
    options = (_option(holder, code_of(each)) for each in named if isinstance(each, ast.Attribute))
    return any(each is not None and not _is_asked_for(project, module, holder, *each) for each in options)


_SHOWS = re.compile(r"(return|output|need|show|store|save)_(\w+_)?(attn|attention|weight)", re.IGNORECASE)
"""An option under which attention's weights are handed out, to be looked at."""


def _option(holder: ast.ClassDef, attribute: str) -> tuple[Function, str] | None:
    """The constructor, and its argument that is kept as an attribute and is off by default."""
    for made in holder.body:
        if not isinstance(made, Function) or made.name != "__init__":
            continue
        for each in ast.walk(made):
            kept = isinstance(each, ast.Assign) and attribute in map(code_of, each.targets)
            if kept and isinstance(each, ast.Assign) and isinstance(each.value, ast.Name):
                default = default_of(made, each.value.id)
                return (made, each.value.id) if is_off(default) else None
    return None


def _is_asked_for(project: "Project", module: Module, holder: ast.ClassDef, made: Function, name: str) -> bool:
    """Whether a file hands the argument over to anything by its name, or to the class by its place."""
    for other in project.connected(module):
        if any(each.arg == name and not is_off(each.value) for each in other.all(ast.keyword)):
            return True
        for call in other.calls_named(holder.name):
            if hides_arguments(call) or not is_off(handed_over(made, call, name, bound=True)):
                return True
    return False
