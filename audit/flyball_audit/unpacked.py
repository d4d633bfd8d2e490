"""What `**options` hands over: the entries of dicts that the code writes out, wherever it does."""

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from flyball_audit.definition import Definition, method_of
from flyball_audit.module import Function, Module, last_name
from flyball_audit.names import code_of

if TYPE_CHECKING:
    from flyball_audit.assigned import Assigning
    from flyball_audit.project import Project

DEEPEST = 6
"""Variables, calls and dicts within dicts, from one to the next."""


class Entry(NamedTuple):
    """A key of a dict, and the expression of what lies there."""

    module: Module
    key: str
    value: ast.expr


Entries = list[Entry]


def entries_of(project: "Project", module: Module, node: ast.expr, depth: int = DEEPEST) -> Entries | None:
    """All that a dict may hold; None where what the code writes does not tell."""
    if not depth:
        return None
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return _together(_entry(project, module, key, value, depth) for key, value in pairs)
    if isinstance(node, ast.IfExp | ast.BinOp):
        parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node.left, node.right]
        known = isinstance(node, ast.IfExp) or isinstance(node.op, ast.BitOr)
        return _together(entries_of(project, module, each, depth - 1) for each in parts) if known else None
    if isinstance(node, ast.Call):
        return _of_call(project, module, node, depth)
    return _of_name(project, module, node, depth) if isinstance(node, ast.Name | ast.Attribute) else None


def _together(parts: Iterable[Entries | None]) -> Entries | None:
    found: Entries = []
    for each in parts:
        if each is None:
            return None
        found += each
    return found


def _entry(project: "Project", module: Module, key: ast.expr | None, value: ast.expr, depth: int) -> Entries | None:
    if key is None:
        return entries_of(project, module, value, depth - 1)
    said = key.value if isinstance(key, ast.Constant) else None
    return [Entry(module, said, value)] if isinstance(said, str) else None


def _of_call(project: "Project", module: Module, call: ast.Call, depth: int) -> Entries | None:
    """Of `dict(…)`, of a copy, and of what a function of the project gives."""
    if module.qualified(call.func) == "builtins.dict":
        return _handed(project, module, call, depth)
    if last_name(call) in {"copy", "deepcopy"}:
        held = call.args[0] if call.args else call.func.value if isinstance(call.func, ast.Attribute) else call
        return entries_of(project, module, held, depth - 1)
    called = list(project.flow.callees(module, call))
    return _returned(project, called[0], depth) if len(called) == 1 else None


def _handed(project: "Project", module: Module, call: ast.Call, depth: int) -> Entries | None:
    """What `dict(…)` and `update(…)` are given."""
    parts = [entries_of(project, module, each, depth - 1) for each in call.args]
    words = [(ast.Constant(each.arg) if each.arg else None, each.value) for each in call.keywords]
    return _together([*parts, *(_entry(project, module, key, value, depth) for key, value in words)])


def _returned(project: "Project", called: tuple[Module, ast.AST], depth: int) -> Entries | None:
    home, function = called
    given = [each.value for each in home.within(function, ast.Return)] if isinstance(function, Function) else []
    return _together(entries_of(project, home, each, depth - 1) if each else None for each in given) if given else None


def _of_name(project: "Project", module: Module, node: ast.Name | ast.Attribute, depth: int) -> Entries | None:
    """What a variable or an attribute of one's own is given, and what is put into it afterwards."""
    if isinstance(node, ast.Attribute):
        return _of_attribute(project, module, node, depth)
    scope = next((each for each in _scopes(module, node) if _binds(module, each, node.id)), None)
    return _within(project, module, scope, node, depth) if scope is not None else None


def _of_attribute(project: "Project", module: Module, node: ast.Attribute, depth: int) -> Entries | None:
    function = module.function_of(node)
    holder = module.class_of(function) if function is not None else None
    if holder is None or code_of(node.value) not in {"self", "cls"}:
        return None
    for above in project.flow.lineage(Definition(module, holder)):
        computed = method_of(above.node, node.attr) if isinstance(above.node, ast.ClassDef) else None
        if computed is not None:
            return _returned(project, (above.module, computed), depth)
        if isinstance(above.node, ast.ClassDef) and any(_given(above.module, above.node, node)):
            return _within(project, above.module, above.node, node, depth)
    return None


def _scopes(module: Module, node: ast.AST) -> Iterator[ast.AST]:
    yield from (each for each in module.ancestors(node) if isinstance(each, Function))
    yield module.tree


def _binds(module: Module, scope: ast.AST, name: str) -> bool:
    """Whether a name belongs to a function, or to the module."""
    if isinstance(scope, Function) and any(each.arg == name for each in ast.walk(scope.args) if type(each) is ast.arg):
        return True
    around = scope if isinstance(scope, Function) else None
    return any(
        each.id == name and isinstance(each.ctx, ast.Store) and module.function_of(each) is around
        for each in module.all(ast.Name)
    )


def _within(
    project: "Project", module: Module, scope: ast.AST, node: ast.Name | ast.Attribute, depth: int
) -> Entries | None:
    given = list(_given(module, scope, node))
    if not given or (isinstance(node, ast.Name) and _comes_otherwise(module, scope, node.id, len(given))):
        return None
    values = (entries_of(project, module, each, depth - 1) if each is not None else None for each in given)
    return _together([*values, *_put(project, module, scope, code_of(node), depth)])


def _given(module: Module, scope: ast.AST, node: ast.Name | ast.Attribute) -> Iterator[ast.expr | None]:
    """What assignments in a function, a class or a module give to a name; an attribute's may stand in the class."""
    plain, annotated = module.all(ast.Assign), module.all(ast.AnnAssign)
    every: list[Assigning] = [*plain, *(each for each in annotated if each.value is not None)]
    for each in every:
        for target in each.targets if isinstance(each, ast.Assign) else [each.target]:
            if _is_it(module, scope, target, node):
                yield each.value


def _is_it(module: Module, scope: ast.AST, target: ast.expr, node: ast.Name | ast.Attribute) -> bool:
    if isinstance(scope, ast.ClassDef) and isinstance(node, ast.Attribute):
        in_body = isinstance(target, ast.Name) and target.id == node.attr and _is_in_body(module, target, scope)
        return in_body or (isinstance(target, ast.Attribute) and _is_own(module, scope, target, code_of(node)))
    around = scope if isinstance(scope, Function) else None
    named = isinstance(target, ast.Name) and isinstance(node, ast.Name) and target.id == node.id
    return named and module.function_of(target) is around


def _is_in_body(module: Module, target: ast.AST, scope: ast.ClassDef) -> bool:
    return module.parent(module.statement(target)) is scope


def _is_own(module: Module, scope: ast.AST, target: ast.expr, said: str) -> bool:
    return code_of(target) == said and (scope is module.tree or scope in module.ancestors(target))


def _comes_otherwise(module: Module, scope: ast.AST, name: str, assigned: int) -> bool:
    """Whether a variable is an argument, or is bound by more than assignments: a loop, an unpacked tuple."""
    around = scope if isinstance(scope, Function) else None
    arguments = [each for each in ast.walk(around.args) if type(each) is ast.arg] if around is not None else []
    bound = (each for each in module.all(ast.Name) if each.id == name and isinstance(each.ctx, ast.Store))
    stores = sum(module.function_of(each) is around for each in bound)
    return stores != assigned or any(each.arg == name for each in arguments)


def _put(project: "Project", module: Module, scope: ast.AST, said: str, depth: int) -> Iterator[Entries | None]:
    """What is put under keys, and what `update` brings; what may be taken out again is not known."""
    for each in module.all(ast.Subscript):
        holder = module.parent(each)
        if isinstance(each.ctx, ast.Store) and _is_own(module, scope, each.value, said):
            value = holder.value if isinstance(holder, ast.Assign) else None
            yield _entry(project, module, each.slice, value, depth) if value is not None else None
    for call in module.calls_named("update", "setdefault", "pop", "popitem", "clear"):
        if isinstance(call.func, ast.Attribute) and _is_own(module, scope, call.func.value, said):
            yield _handed(project, module, call, depth) if call.func.attr == "update" else None
