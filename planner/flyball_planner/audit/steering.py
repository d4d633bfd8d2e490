"""What the host steers by a value that it reads: a size, the optimizer, the loss that is taken, the end of a loop."""

import ast
import re
from collections.abc import Iterator

from flyball_planner.audit.module import Function, Loop, Module, last_name
from flyball_planner.audit.names import code_of
from flyball_planner.audit.regions import Region

_SOUND = re.compile(r"isnan|isinf|isfinite")
"""Asks whether numbers are sound, which they nearly always are."""


def condition_around(module: Module, node: ast.expr, root: ast.AST) -> ast.If | None:
    """The condition that a node is part of, inside `root`."""
    below: ast.AST = node
    for above in module.ancestors(node):
        if above is root:
            return None
        if isinstance(above, ast.If):
            return above if below is above.test else None
        below = above
    return None


def asks_if_sound(test: ast.If) -> bool:
    """Whether a condition asks for what no sound number is."""
    return _SOUND.search(code_of(test.test)) is not None


def refuses(region: Region, node: ast.expr) -> bool:
    """Whether a condition on a value only says what is not taken: it raises, or asserts."""
    test = condition_around(region.module, node, region.root)
    raising = test is not None and any(isinstance(each, ast.Raise) for each in test.body)
    return raising or isinstance(region.module.statement(node), ast.Assert)


def evaluates(region: Region, node: ast.AST) -> bool:
    """Whether a branch on the way to a node asks for a state that is called an evaluation: `mode == "valid"`."""
    for module, place in (*region.calls, (region.module, node)):
        below: ast.AST = place
        for above in module.ancestors(place):
            if isinstance(above, Function | Loop):
                break
            if isinstance(above, ast.If) and below in above.body and _asks_for_evaluation(above.test):
                return True
            below = above
    return False


def _asks_for_evaluation(test: ast.expr) -> bool:
    """Whether something is compared with a name or text that means validation or a test."""
    if not isinstance(test, ast.Compare) or len(test.ops) > 1 or not isinstance(test.ops[0], ast.Eq | ast.Is):
        return False
    state = test.comparators[0]
    said = state.value if isinstance(state, ast.Constant) else code_of(state).rpartition(".")[2]
    return isinstance(said, str) and _EVALUATION.search(said) is not None


_EVALUATION = re.compile(r"^(val|valid|validat\w+|dev|eval\w*|test|testing|infer\w*|predict\w*)$", re.IGNORECASE)


def ends_turns(region: Region, node: ast.expr) -> bool:
    """Whether the loop that a region is ends by a condition on a value: the optimisation has converged."""
    test = condition_around(region.module, node, region.root)
    if test is None or region.calls or not isinstance(region.root, Loop) or asks_if_sound(test):
        return False
    leaving = (each for each in ast.walk(test) if isinstance(each, ast.Break | ast.Return))
    return any(_loop_of(region.module, each) is region.root for each in leaving)


def _loop_of(module: Module, node: ast.AST) -> ast.AST | None:
    return next((each for each in module.ancestors(node) if isinstance(each, Loop | Function)), None)


def ends_turns_by_number(region: Region, node: ast.expr) -> bool:
    """Whether a number that is read ends the loop that reads it, or whose function reads it and gives it back."""
    kept = frozenset(_named(region, node))
    if isinstance(region.root, Loop):
        return _is_left_by(region.module, region.root, kept)
    if not region.calls:
        return False
    caller, call = region.calls[-1]
    loop = _loop_of(caller, call)
    return isinstance(loop, Loop) and _is_left_by(caller, loop, frozenset(_handed_back(region, node, kept)))


def _is_left_by(module: Module, loop: Loop, names: frozenset[str]) -> bool:
    tests = (each for each in module.repeated(loop, ast.If) if module.names_in(each.test) & names)
    leaving = (
        jump
        for each in tests
        if not asks_if_sound(each)
        for statement in each.body
        for jump in ast.walk(statement)
        if isinstance(jump, ast.Break | ast.Return)
    )
    return bool(names) and any(_loop_of(module, each) is loop for each in leaving)


def _handed_back(region: Region, node: ast.expr, kept: frozenset[str]) -> Iterator[str]:
    """What the caller calls a number that a function gives back, alone or as one of several."""
    caller, call = region.calls[-1]
    statement = caller.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is call else []
    for returned in region.all(ast.Return):
        given = list(_parts(returned.value)) if returned.value is not None else []
        for target in targets:
            taken = list(_parts(target))
            pairs = zip(taken, given, strict=True) if len(taken) == len(given) else ()
            yield from (code_of(to) for to, each in pairs if each is node or code_of(each) in kept)


def keeps_best(region: Region, node: ast.expr) -> bool:
    """Whether a condition compares a value with the best so far, and its branch keeps more than that number."""
    test = condition_around(region.module, node, region.root)
    if test is None or not isinstance(node, ast.Compare) or len(test.body) < 2:
        return False
    compared = {code_of(each) for each in (node.left, *node.comparators)}
    made = {code_of(to) for each in test.body if isinstance(each, ast.Assign) for to in each.targets}
    return bool(compared & made)


def feeds_host(region: Region, node: ast.expr) -> bool:
    """Whether a value goes where only the host has what works on it: a buffer's priorities, a reward."""
    below: ast.AST = node
    for above in region.module.ancestors(node):
        if isinstance(above, ast.stmt):
            return any(_PRIORITIES.search(each) for each in _named(region, node))
        if isinstance(above, ast.Call) and below in above.args and _ON_HOST.search(last_name(above)):
            return True
        keyed = zip(above.keys, above.values, strict=True) if isinstance(above, ast.Dict) else ()
        if any(
            value is below and isinstance(key, ast.Constant) and _ON_HOST.search(str(key.value)) for key, value in keyed
        ):
            return True
        below = above
    return False


_PRIORITIES = re.compile(r"(^|_)priorit(y|ies)(_|$)")
_ON_HOST = re.compile(r"(^|_)(priorit(y|ies)|rewards?)(_|$)")
"""In names of functions and entries: what draws from a buffer, or says what an action was worth, is no kernel."""


def chooses_loss(region: Region, node: ast.expr) -> bool:
    """Whether the branches of a condition on a value make what is differentiated: `loss = -loss`."""
    test = condition_around(region.module, node, region.root)
    if test is None or asks_if_sound(test):
        return False
    inside = (each for part in (*test.body, *test.orelse) for each in ast.walk(part))
    made = {code_of(target) for each in inside if isinstance(each, ast.Assign) for target in each.targets}
    passes = (each for each in region.all(ast.Call) if last_name(each) == "backward")
    return any(isinstance(each.func, ast.Attribute) and code_of(each.func.value) in made for each in passes)


def sets_optimizer(region: Region, node: ast.expr) -> bool:
    """Whether a number that is read becomes one of an optimizer's: `group["lr"] = rate`."""
    read = frozenset(_kept_as(region, node))
    for each in region.all(ast.Assign):
        keys = (target.slice for target in each.targets if isinstance(target, ast.Subscript))
        if any(isinstance(key, ast.Constant) and key.value in _OPTIONS for key in keys) and code_of(each.value) in read:
            return True
    return False


_OPTIONS = frozenset({"lr", "momentum", "betas", "weight_decay"})
"""Of parameter groups; PyTorch's optimizers have them on the host."""


def sizes(region: Region, node: ast.expr) -> bool:
    """Whether a number that is read becomes a bound or a length in its function: chance could be asked on the host."""
    if "rand" in code_of(node):
        return False
    read = frozenset(_kept_as(region, node))
    slices = (part for each in region.all(ast.Slice) for part in (each.lower, each.upper) if part is not None)
    counts = (part for call in region.all(ast.Call) if last_name(call) in _SIZED for part in call.args)
    return any(isinstance(each, ast.Name | ast.Attribute) and code_of(each) in read for each in (*slices, *counts))


_SIZED = frozenset({"range", "arange", "topk", "narrow"})
"""Calls that take a number of elements from the host."""


def _named(region: Region, node: ast.expr) -> Iterator[str]:
    """The variables that a value is given to where it is read."""
    statement = region.module.statement(node)
    if isinstance(statement, ast.Assign):
        yield from (code_of(each) for target in statement.targets for each in _parts(target))


def _kept_as(region: Region, node: ast.expr) -> Iterator[str]:
    """What a number is called that is read, and what the larger or smaller of it and another is called."""
    kept = set(_named(region, node))
    if not kept:
        return
    yield from kept
    for each in region.all(ast.Assign):
        value = each.value
        limited = isinstance(value, ast.Call) and last_name(value) in {"min", "max"}
        if limited and isinstance(value, ast.Call) and any(code_of(part) in kept for part in value.args):
            yield from (code_of(target) for target in each.targets)


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    yield from target.elts if isinstance(target, ast.Tuple | ast.List) else (target,)
