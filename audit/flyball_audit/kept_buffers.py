"""Buffers of modules into which a forward pass puts what it computes, history and all."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition
from flyball_audit.given import named_arguments
from flyball_audit.index import names_below
from flyball_audit.module import Function, Module

if TYPE_CHECKING:
    from flyball_audit.project import Project

_WRITING = frozenset({"add_", "mul_", "lerp_", "copy_", "sub_"})

_COMPUTING = frozenset({
    "mean", "var", "std", "sum", "norm", "pow", "square", "abs", "max", "min", "amax", "amin", "var_mean", "matmul",
    "mm", "bmm", "einsum",
})  # fmt: skip
"""Of what a pass is handed: who takes these hands their history on."""


def written_with_history(project: "Project", module: Module) -> Iterator[ast.stmt]:
    """The statements of forward passes that put what they compute of their arguments into a buffer, in place."""
    buffers = _registered(module)
    if not buffers:
        return
    for function in module.functions:
        holder = module.class_of(function) if function.name == "forward" else None
        if holder is not None and project.flow.is_module(Definition(module, holder)):
            yield from _written(project, module, function, buffers)


def _registered(module: Module) -> frozenset[str]:
    made = (each.args[0] for each in module.calls_named("register_buffer") if each.args)
    return frozenset(each.value for each in made if isinstance(each, ast.Constant) and isinstance(each.value, str))


def _written(project: "Project", module: Module, function: Function, buffers: frozenset[str]) -> Iterator[ast.stmt]:
    computed = _computed(module, function)
    statements: list[ast.stmt] = [*module.within(function, ast.Expr), *module.within(function, ast.AugAssign)]
    for statement in statements:
        root, put = _in_place(statement)
        if root in buffers and put and project.flow.records_history(module, statement):
            taken = {name for each in put for name in names_below(each)}
            if taken & computed and not _is_detached(put):
                yield statement


def _in_place(statement: ast.stmt) -> tuple[str | None, list[ast.expr]]:
    """The attribute of the instance that a statement writes into, and what it puts there."""
    if isinstance(statement, ast.AugAssign):
        return _own(statement.target), [statement.value]
    node = statement.value if isinstance(statement, ast.Expr) else None
    put: list[ast.expr] = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _WRITING:
        put += node.args
        node = node.func.value
    return (_own(node), put) if put else (None, [])


def _own(node: ast.expr | None) -> str | None:
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own and isinstance(node, ast.Attribute) else None


def _computed(module: Module, function: Function) -> set[str]:
    """The variables that hold what is computed of the arguments."""
    known = {each.arg for each in named_arguments(function)} - {"self"}
    found: set[str] = set()
    for assigned in sorted(module.within(function, ast.Assign), key=lambda each: each.lineno):
        follows = names_below(assigned.value) & (known | found)
        if follows and _is_computation(assigned.value) and not _is_detached([assigned.value]):
            found |= {name for each in assigned.targets for name in names_below(each)}
    return found


def _is_computation(value: ast.expr) -> bool:
    inside = [*ast.walk(value)]
    methods = {each.func.attr for each in inside if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)}
    return bool(methods & _COMPUTING) or any(isinstance(each, ast.MatMult) for each in inside)


def _is_detached(put: list[ast.expr]) -> bool:
    leaving = {"detach", "data", "item"}
    return any(isinstance(each, ast.Attribute) and each.attr in leaving for part in put for each in ast.walk(part))
