"""What the host steers by a value that it reads: a size, the optimizer, the loss that is taken, the end of a loop."""

import ast
import re
from collections.abc import Iterator, Sequence

from flyball_audit.module import Function, Loop, Module, last_name
from flyball_audit.names import code_of
from flyball_audit.regions import Region

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


def follows(region: Region, node: ast.expr, asked: frozenset[ast.expr]) -> bool:
    """Whether a condition around a node waits itself, and nothing is queued in its branch: a second wait is short."""
    below: ast.AST = node
    for above in region.module.ancestors(node):
        if above is region.root:
            return False
        if (
            isinstance(above, ast.If)
            and below is not above.test
            and any(each in asked for each in ast.walk(above.test))
        ):
            calls = (each for part in (*above.body, *above.orelse) for each in ast.walk(part))
            return not any(isinstance(each, ast.Call) and last_name(each) in _QUEUING for each in calls)
        below = above
    return False


_QUEUING = frozenset({"backward", "step"})


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
    if isinstance(region.root, ast.While) and any(each is node for each in ast.walk(region.root.test)):
        return True
    test = condition_around(region.module, node, region.root)
    if test is None or region.calls or not isinstance(region.root, Loop) or asks_if_sound(test):
        return False
    leaving = (each for each in ast.walk(test) if isinstance(each, ast.Break | ast.Return))
    return any(_loop_of(region.module, each) is region.root for each in leaving)


def _loop_of(module: Module, node: ast.AST) -> ast.AST | None:
    return next((each for each in module.ancestors(node) if isinstance(each, Loop | Function)), None)


def ends_turns_by_number(region: Region, node: ast.expr) -> bool:
    """Whether a number that is read ends the loop that reads it, or whose function reads it and gives it back."""
    kept = frozenset(named_where_read(region, node))
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
    if any(isinstance(each, ast.Name | ast.Attribute) and code_of(each) in read for each in slices):
        return True
    calls = (call for call in region.all(ast.Call) if last_name(call) in _SIZED)
    return any(_has_size(call, node, read) for call in calls)


def _has_size(call: ast.Call, node: ast.expr, read: frozenset[str]) -> bool:
    """Whether a call makes or takes as many elements as a number says, or one of several in a tuple."""
    alone = last_name(call) in _FILLED
    sizes = call.args[:1] if alone else [*call.args, *(each.value for each in call.keywords if each.arg in _LENGTHS)]
    parts = [part for each in sizes for part in _parts(each)]
    if last_name(call) in _ALLOCATING and any(node in ast.walk(each) for each in parts):
        return True
    return any(isinstance(each, ast.Name | ast.Attribute) and code_of(each) in read for each in parts)


_FILLED = frozenset({"full", "new_full"})
"""Calls of which the first argument alone says how many: the second is what they are filled with."""

_ALLOCATING = _FILLED | {"zeros", "ones", "empty", "new_zeros", "new_ones", "new_empty", "pad", "split"}
_SIZED = _ALLOCATING | {"range", "arange", "topk", "narrow"}
"""Calls that take a number of elements from the host."""

_LENGTHS = frozenset({"size", "length", "pad", "k", "end"})


def fits(region: Region, node: ast.expr) -> bool:
    """Whether what a condition compares is what its branch cuts to: `if x.shape[1] != n: x = x.narrow(1, 0, n)`."""
    test = condition_around(region.module, node, region.root)
    if test is None or not isinstance(node, ast.Compare):
        return False
    asked = frozenset(code_of(each) for each in (node.left, *node.comparators) if isinstance(each, ast.Name))
    inside = [each for part in test.body for each in ast.walk(part)]
    return any(
        isinstance(each, ast.Call) and last_name(each) in _CUTTING and _has_size(each, node, asked) for each in inside
    )


_CUTTING = frozenset({"narrow", "pad"})


def named_where_read(region: Region, node: ast.expr) -> Iterator[str]:
    """The variables that a value is given to where it is read."""
    statement = region.module.statement(node)
    if isinstance(statement, ast.Assign):
        yield from (code_of(each) for target in statement.targets for each in _parts(target))


def _kept_as(region: Region, node: ast.expr) -> Iterator[str]:
    """What a number is called that is read, and what is reckoned from it and another is called."""
    kept = set(named_where_read(region, node))
    if not kept:
        return
    yield from kept
    for each in region.all(ast.Assign):
        if any(code_of(part) in kept for part in _reckoned_from(each.value)):
            yield from (code_of(target) for target in each.targets)


def _reckoned_from(value: ast.expr) -> Sequence[ast.expr]:
    """What the larger or smaller of several is taken of, or a sum or difference."""
    if isinstance(value, ast.BinOp):
        return (value.left, value.right)
    return value.args if isinstance(value, ast.Call) and last_name(value) in {"min", "max"} else ()


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    yield from target.elts if isinstance(target, ast.Tuple | ast.List) else (target,)
