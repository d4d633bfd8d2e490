"""Functions that variables hold with some of their arguments: `run = partial(evaluate, model)`."""

import ast

from flyball_audit.module import Module


def calls_of_what_holds(module: Module, made: ast.Call) -> list[ast.Call]:
    """The calls of the variables that a partial function is given to: without any, what it calls need not be known."""
    statement = module.statement(made) if made.args else None
    if not isinstance(statement, ast.Assign):
        return []
    names = {each.id for each in statement.targets if isinstance(each, ast.Name)}
    calls = module.calls_of(module.scope_of(made)) if names else ()
    return [each for each in calls if isinstance(each.func, ast.Name) and each.func.id in names]
