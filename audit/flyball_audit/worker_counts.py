"""How many workers loaders have where nobody among the files says, by the defaults of what builds them."""

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.assigned import Assigning, stored
from flyball_audit.declared import NO_NUMBER, declared
from flyball_audit.definition import Definition, method_of
from flyball_audit.given import argument, default_of, handed_over, hides_arguments, named_arguments
from flyball_audit.loaders import DEEPEST, Loader
from flyball_audit.module import Function, Module, last_name
from flyball_audit.names import code_of

if TYPE_CHECKING:
    from flyball_audit.project import Project

_Place = tuple[Module, ast.expr]
"""An expression, and where it stands."""


def has_none_by_default(project: "Project", loader: Loader) -> bool:
    """Whether the number of workers is 0 unless somebody elsewhere hands over, or configures, another."""
    given = loader.argument("num_workers")
    return given is not None and not isinstance(given, ast.Constant) and _is_zero(project, loader.module, given)


def _is_zero(project: "Project", module: Module, node: ast.expr | None, depth: int = DEEPEST) -> bool:
    """Whether an expression is 0, or what is so by default, where no call that is seen hands another over."""
    if isinstance(node, ast.Constant):
        return (node.value == 0 and type(node.value) is int) or node.value == "0"
    if not depth or node is None:
        return False
    if isinstance(node, ast.Name | ast.Attribute):
        return _are_zero(project, list(_ways(project, module, node)), depth) and not _is_handed(
            project, module, node, depth
        )
    if isinstance(node, ast.BoolOp | ast.IfExp):
        parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
        return _are_zero(project, [(module, each) for each in parts], depth)
    return isinstance(node, ast.Call) and _is_zero(project, module, _default(node), depth)


def _are_zero(project: "Project", ways: list[_Place], depth: int) -> bool:
    """Whether what a number may be is 0 or nothing, as far as the environment is not asked."""
    said = [each for each in ways if not _is_nothing(*each) and not _is_asked(each[1])]
    return bool(said) and all(_is_zero(project, home, each, depth - 1) for home, each in said)


_ENVIRONMENT = re.compile(r"environ|getenv")


def _is_nothing(module: Module, node: ast.expr) -> bool:
    """Whether an expression is None, or an argument or variable that is nothing else."""
    if isinstance(node, ast.Name):
        ways = list(_of_variable(module, node))
        return bool(ways) and all(isinstance(each, ast.Constant) and each.value is None for each in ways)
    return isinstance(node, ast.Constant) and node.value is None


def _is_asked(node: ast.expr) -> bool:
    """Whether the environment says it, which has no default of its own."""
    return _ENVIRONMENT.search(code_of(node)) is not None and not (isinstance(node, ast.Call) and _default(node))


def _default(call: ast.Call) -> ast.expr | None:
    """What a call gives where nobody says otherwise: `config.get("workers", 0)`, `Field(default=0)`."""
    if last_name(call) == "int" and len(call.args) == 1:
        only = call.args[0]
        plain = isinstance(only, ast.Name | ast.Attribute | ast.Constant)
        return only if plain else _default(only) if isinstance(only, ast.Call) else None
    place = _PLACES_OF_DEFAULTS.get(last_name(call))
    return argument(call, "default", place) if place is not None else None


_PLACES_OF_DEFAULTS = {"get": 1, "pop": 1, "getenv": 1, "getattr": 2, "field": 0, "Field": 0, "Option": 0}


def _ways(project: "Project", module: Module, node: ast.Name | ast.Attribute) -> Iterator[_Place]:
    """What a variable, an argument by default, an attribute, or a setting may be, as the code says."""
    if isinstance(node, ast.Name):
        yield from ((module, each) for each in _of_variable(module, node))
        return
    own = _class_around(module, node)
    if own is None or code_of(node.value) not in {"self", "self.hparams"}:
        yield from declared(project, module, node.attr)
        return
    for above in project.flow.lineage(own):
        if isinstance(above.node, ast.ClassDef):
            yield from ((above.module, each) for each in _kept(above, node))
            begin = method_of(above.node, "__init__")
            named = begin is not None and node.attr in _arguments(begin)
            if named and begin is not None and code_of(node.value) == "self.hparams":
                yield above.module, default_of(begin, node.attr) or NO_NUMBER


def _of_variable(module: Module, name: ast.Name) -> Iterator[ast.expr]:
    function = module.function_of(name)
    if function is not None and name.id in _arguments(function):
        yield default_of(function, name.id) or NO_NUMBER
    scope = function or module.tree
    given: list[Assigning] = [*module.within(scope, ast.Assign), *module.within(scope, ast.AnnAssign)]
    for assigned in given:
        if name.id in stored(assigned) and assigned.value is not None:
            yield assigned.value
    others: list[ast.AugAssign | ast.For] = [*module.within(scope, ast.AugAssign), *module.within(scope, ast.For)]
    for other in others:
        if isinstance(other.target, ast.Name) and other.target.id == name.id:
            yield NO_NUMBER


def _arguments(function: Function) -> set[str]:
    return {each.arg for each in named_arguments(function)}


def _class_around(module: Module, node: ast.AST) -> Definition | None:
    function = module.function_of(node)
    holder = module.class_of(function) if function is not None else None
    return Definition(module, holder) if holder is not None else None


def _kept(above: Definition, kept: ast.Attribute) -> Iterator[ast.expr]:
    """What methods of a class keep under an attribute's name, or the class itself holds there."""
    module, name = above.module, code_of(kept)
    every: list[Assigning] = [*module.all(ast.Assign), *module.all(ast.AnnAssign)]
    for each in every:
        targets = each.targets if isinstance(each, ast.Assign) else [each.target]
        named = [one for one in targets if isinstance(one, ast.Attribute | ast.Name) and _last(one) == kept.attr]
        own = [one for one in named if isinstance(one, ast.Name) or code_of(one) == name]
        if own and each.value is not None and _is_within(module, each, above.node, own[0]):
            yield each.value


def _last(target: ast.Attribute | ast.Name) -> str:
    return target.attr if isinstance(target, ast.Attribute) else target.id


def _is_within(module: Module, assigned: ast.stmt, holder: ast.AST, target: ast.expr) -> bool:
    """Whether an attribute is given a value in a class's methods, or a name in the class itself."""
    if isinstance(target, ast.Name):
        return module.parent(assigned) is holder
    return any(each is holder for each in module.ancestors(assigned))


def _is_handed(project: "Project", module: Module, node: ast.Name | ast.Attribute, depth: int) -> bool:
    """Whether a call that is seen hands another number over for the argument that a name is."""
    function = module.function_of(node) if isinstance(node, ast.Name) else None
    if function is None or not isinstance(node, ast.Name) or node.id not in _arguments(function):
        return False
    holder = module.class_of(function)
    named = holder.name if holder is not None and function.name == "__init__" else function.name
    for caller, call in project.flow.callers(named, module):
        if Definition(module, function) in project.flow.callees(caller, call):
            said = handed_over(function, call, node.id, bound=holder is not None)
            nothing = said is not None and _is_nothing(caller, said)
            if hides_arguments(call) or not (nothing or _is_zero(project, caller, said, depth - 1)):
                return True
    return False
