"""Loaders that are built for a training whose loop is not among the files: handed back, kept, or given to a `fit`."""

import ast
import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.loaders import Loader, loops_over
from flyball_audit.module import Function, Loop
from flyball_audit.names import code_of

if TYPE_CHECKING:
    from flyball_audit.module import Module
    from flyball_audit.project import Project

_TRAINING = re.compile(r"(?<![a-z])(train|trn|fit|val(id)?|dev)", re.IGNORECASE)
"""In names of loaders, of what builds them and of their data: each epoch goes through them."""

_BUILDER = re.compile(
    r"^_?(get|make|create|build|setup|prepare|load)?_?(\w+_)?(data_?)?loaders?(_(by|for|from|of)_\w+)?$", re.IGNORECASE
)
"""Names of functions that are there to build loaders."""

_ONCE = re.compile(
    r"(?<![a-z])(test|infer|predict|demo|toy|dummy|example|debug|bench|calib|embed|extract|export|plot|show|sampl(e|ing)"
    r"|stat(s|istic)|mean_std|oracle|once)",
    re.IGNORECASE,
)
"""In those names: it is gone through once, or nobody waits for it."""

_FITTING = ("fit", "fit_one_cycle", "fit_generator")
"""Methods of libraries that go through the loader that they are handed, epoch by epoch."""


def is_built_for_training(project: "Project", loader: Loader) -> bool:
    """Whether code elsewhere goes through a loader in each epoch, as its names tell, and nothing tells of less."""
    in_memory = loader.dataset_made_by == "torch.utils.data.TensorDataset"
    if in_memory or loops_over(project, loader) or not _leaves(project, loader):
        return False
    own = " ".join(_own_names(loader))
    function = loader.module.function_of(loader.call)
    built_by = function.name if function is not None else ""
    if _ONCE.search(own or built_by):
        return False
    data = loader.argument("dataset")
    said = f"{own} {built_by} {code_of(data) if data is not None else ''}"
    return bool(_TRAINING.search(said)) or loader.constant("shuffle") is True or bool(_BUILDER.search(built_by))


def _targets(loader: Loader) -> list[ast.expr]:
    statement = loader.module.statement(loader.call)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or not _is_part_of(loader, statement.value):
        return []
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target]


def _is_part_of(loader: Loader, value: ast.expr | None) -> bool:
    """Whether what is assigned is the loader, or holds it: a dict or list of several, or one where it is asked for."""
    for above in (loader.call, *loader.module.ancestors(loader.call)):
        if above is value:
            return True
        if above is not loader.call and not isinstance(above, _HOLDING):
            return False
    return False


_HOLDING = (ast.IfExp, ast.BoolOp, ast.Dict, ast.DictComp, ast.ListComp, ast.List, ast.Tuple, ast.NamedExpr)


def _own_names(loader: Loader) -> Iterator[str]:
    """What a loader is kept as, without whose it is."""
    for each in _targets(loader):
        yield each.attr if isinstance(each, ast.Attribute) else code_of(each)


def _leaves(project: "Project", loader: Loader) -> bool:
    """Whether a loader is given back, kept in an instance, or handed to a library that trains."""
    module, statement = loader.module, loader.module.statement(loader.call)
    function, targets = module.function_of(loader.call), _targets(loader)
    given = [*module.within(function, ast.Return)] if isinstance(function, Function) else []
    back = {name for each in given for name in _given(each)}
    if _list_of(loader, statement) in back:
        return True
    if _is_made_again(loader):
        return False
    if isinstance(statement, ast.Return):
        return True
    if any(isinstance(each, ast.Attribute) for each in targets):
        return True
    names = {each.id for each in targets if isinstance(each, ast.Name)}
    fits = (each for each in module.calls_named(*_FITTING) if module.function_of(each) is function)
    if any(names & _handed(each) and not project.flow.callees(module, each) for each in fits):
        return True
    return bool(back & (names | _put_into(module, function, statement, names)))


def _list_of(loader: Loader, statement: ast.stmt) -> str | None:
    """The list to which a loader is added as it is made: one for each data set."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.args != [loader.call] or not isinstance(call.func, ast.Attribute):
        return None
    held = call.func.value
    return held.id if call.func.attr == "append" and isinstance(held, ast.Name) else None


def _put_into(module: "Module", function: ast.AST | None, made: ast.stmt, names: set[str]) -> set[str]:
    """The dicts and lists of a function in which a loader is kept under a key: `loaders["train"] = loader`."""
    assigned = (each for each in module.all(ast.Assign) if module.function_of(each) is function)
    kept = (each for each in assigned if each is made or (isinstance(each.value, ast.Name) and each.value.id in names))
    places = (target.value for each in kept for target in each.targets if isinstance(target, ast.Subscript))
    return {each.id for each in places if isinstance(each, ast.Name)}


def _is_made_again(loader: Loader) -> bool:
    """Whether a loop around the call makes a loader for each turn."""
    around = itertools.takewhile(lambda each: not isinstance(each, Function), loader.module.ancestors(loader.call))
    return any(isinstance(each, Loop) for each in around)


def _handed(call: ast.Call) -> set[str]:
    """The names that a call is handed as they are, or of which it is handed a part: `fit(loaders["train"])`."""
    handed = (*call.args, *(each.value for each in call.keywords))
    parts = (each.value if isinstance(each, ast.Subscript) else each for each in handed)
    return {each.id for each in parts if isinstance(each, ast.Name)}


def _given(returned: ast.Return) -> Iterator[str]:
    """The names that a function gives back as they are, alone, or as parts of a tuple, list or dict."""
    value = returned.value
    parts: list[ast.expr | None] = [value]
    if isinstance(value, ast.Tuple | ast.List):
        parts = [*value.elts]
    elif isinstance(value, ast.Dict):
        parts = [*value.values]
    yield from (each.id for each in parts if isinstance(each, ast.Name))
