"""`growing-concatenation`: each turn copies all that the turns before it gathered."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.finding import Severity
from flyball_audit.module import Function, last_name
from flyball_audit.project import Module, Project
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule

_JOINING = frozenset({
    "torch.cat", "torch.concat", "torch.concatenate", "torch.vstack", "torch.hstack", "numpy.concatenate",
    "numpy.append", "numpy.vstack", "numpy.hstack", "numpy.row_stack", "numpy.column_stack", "pandas.concat",
})  # fmt: skip
_NAMES = frozenset(each.rpartition(".")[2] for each in _JOINING)
_FEW = 8
"""Turns of a loop over a list in the code: so few copies are no matter."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Variables of loops that are joined with something new, and read nowhere else in the loop."""
    for call in module.calls_named(*_NAMES):
        assigned = _assigned(module, call)
        if assigned is None:
            continue
        if module.qualified(call.func) not in _JOINING and not _appends_rows(call, ast.unparse(assigned.targets[0])):
            continue
        loop = _loop(module, assigned, of_tensors=(module.qualified(call.func) or "").startswith("torch."))
        if loop is None:
            yield from _in_state(module, call, assigned)
            continue
        holder = ast.unparse(assigned.targets[0])
        if (
            _is_another_each_turn(loop, assigned.targets[0])
            or _is_last_of_list(loop, holder)
            or _ends_when_enough(loop, holder)
        ):
            continue
        if _joins(call, holder) and not _is_read(loop, assigned, holder) and not _begins_anew(loop, assigned, holder):
            yield Match(
                call,
                f"`{module.quote(call)}` copies all of `{holder}` in each iteration",
                f"the loop at {module.path}:{loop.lineno} appends a part to it and does not read it",
                LIKELY,
                None if _is_over_batches(project, module, loop) else Severity.NOTE,
            )


def _in_state(module: Module, call: ast.Call, assigned: ast.Assign) -> Iterator[Match]:
    """What an object gathers, by a method that is called for each batch, as its name says."""
    target, function = assigned.targets[0], module.function_of(assigned)
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name) or function is None:
        return
    holder = ast.unparse(target)
    if not _GATHERING.search(function.name) or _WINDOW.search(target.attr) or not _joins(call, holder):
        return
    if not _is_read(function, assigned, holder) and not _is_set_again(module, function, assigned, holder):
        yield Match(
            call,
            f"`{module.quote(call)}` copies all of `{holder}` in each call",
            f"`{function.name}` appends a part to it, and probably runs for each batch",
            SUSPECTED,
            Severity.NOTE,
        )


_GATHERING = re.compile(
    r"^_?(update|add|append|push|collect|record|observe|accumulate|store|gather|log|process)(_|$)|(batch|step)(_end)?$"
)
"""In names of methods that take one batch, or one result, a call."""

_WINDOW = re.compile(r"cache|(?<![a-z])kv|key|value|queue|bank|window|buffer|past|memory|context|pool", re.IGNORECASE)
"""In names of what is read as a whole by others, again and again, or holds the last few."""


def _is_set_again(module: Module, function: Function, assigned: ast.Assign, holder: str) -> bool:
    """Whether a method gives what gathers another value too, in other places than its first: it is cut, say."""
    others = (each for each in module.within(function, ast.Assign) if each is not assigned)
    same = (each for each in others if any(ast.unparse(target) == holder for target in each.targets))
    return any(each.lineno > assigned.lineno and not isinstance(module.parent(each), ast.If) for each in same)


def _assigned(module: Module, call: ast.Call) -> ast.Assign | None:
    """`x = cat(…)`, or `x = first if x is None else cat(…)`."""
    above = module.parent(call)
    if isinstance(above, ast.IfExp):
        above = module.parent(above)
    return above if isinstance(above, ast.Assign) and len(above.targets) == 1 else None


def _loop(module: Module, assigned: ast.Assign, *, of_tensors: bool) -> ast.For | ast.While | None:
    """The loop around it, within its function; a module's forward loops over a few layers.

    Of loops that nothing is gone through, those that make a sequence of tensors longer need the whole in each turn.
    """
    for above in module.ancestors(assigned):
        if isinstance(above, ast.For):
            function = module.function_of(above)
            few = isinstance(above.iter, ast.List | ast.Tuple) and len(above.iter.elts) <= _FEW
            forward = function is not None and function.name == "forward"
            layers = forward and not _is_over_positions(above) and not _is_over_many(above)
            return None if few or layers else above
        if isinstance(above, ast.While):
            return None if of_tensors else above
        if isinstance(above, Function | ast.Lambda | ast.ClassDef):
            return None
    return None


def _is_over_positions(loop: ast.For) -> bool:
    """Whether a loop goes through the places of a sequence: `range(x.size(1))`."""
    if not isinstance(loop.iter, ast.Call) or last_name(loop.iter) not in {"range", "trange"}:
        return False
    parts = [part for given in loop.iter.args for part in ast.walk(given)]
    return any(isinstance(each, ast.Attribute) and each.attr in {"shape", "size"} for each in parts)


def _is_over_many(loop: ast.For) -> bool:
    """Whether a module counts something that it may have thousands of: `range(self.n_kernels)`."""
    if not isinstance(loop.iter, ast.Call) or last_name(loop.iter) != "range" or len(loop.iter.args) != 1:
        return False
    return _COUNTED.search(ast.unparse(loop.iter.args[0])) is not None


_COUNTED = re.compile(r"(?<![a-z])(kernels|samples|steps|frames|windows|chunks|tokens|points|nodes|features|filters)$")


def _is_last_of_list(loop: ast.For | ast.While, holder: str) -> bool:
    """Whether what is joined is the last of a list that grows by one in each turn: `parts[-1]`."""
    held = holder.removesuffix("[-1]")
    calls = (each for each in ast.walk(loop) if isinstance(each, ast.Call) and last_name(each) == "append")
    return held != holder and any(ast.unparse(each.func) == f"{held}.append" for each in calls)


def _is_another_each_turn(loop: ast.For | ast.While, holder: ast.expr) -> bool:
    """Whether what is joined is the turn's own: `parts[name]` of a loop over names."""
    if isinstance(loop, ast.While):
        return False
    turns = {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
    return any(isinstance(each, ast.Name) and each.id in turns for each in ast.walk(holder))


def _ends_when_enough(loop: ast.For | ast.While, holder: str) -> bool:
    """Whether the loop ends as soon as a few parts are gathered: `if len(found) == k: break`."""
    tests = (each.test for each in ast.walk(loop) if isinstance(each, ast.If) and isinstance(each.body[-1], ast.Break))
    parts = (part for each in tests for part in ast.walk(each) if isinstance(part, ast.Name | ast.Attribute))
    return any(ast.unparse(each) == holder for each in parts)


def _joins(call: ast.Call, holder: str) -> bool:
    """Whether the first of what is joined is the holder itself, or the second of two."""
    if _appends_rows(call, holder):
        return True
    first = call.args[0] if call.args else None
    parts = [first, *call.args[1:2]] if last_name(call) == "append" else [first]
    if isinstance(first, ast.List | ast.Tuple) and len(first.elts) > 1:
        parts = [first.elts[0], *(first.elts[1:] if len(first.elts) == 2 else ())]
    return any(each is not None and ast.unparse(_moved(each)) == holder for each in parts)


def _appends_rows(call: ast.Call, holder: str) -> bool:
    """Whether it is `table = table.append(rows)`: what is given back is another table, where a list gives None."""
    method = call.func
    return isinstance(method, ast.Attribute) and method.attr == "append" and ast.unparse(method.value) == holder


def _moved(node: ast.expr) -> ast.expr:
    """What is moved, or made an array: `total` of `total.to(device)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
        node = node.func.value
    return node


_MOVES = frozenset({"to", "cpu", "cuda", "detach", "float", "numpy"})


def _is_read(loop: ast.For | ast.While | Function, assigned: ast.Assign, holder: str) -> bool:
    """Whether the loop needs the whole in each turn; asking whether it is None, or how long, is no need."""
    inside = set(ast.walk(assigned)) | {part for each in ast.walk(loop) for part in _asked_about(each)}
    inside |= {part for each in ast.walk(loop) for part in _given_again(each, holder)}
    for each in ast.walk(loop):
        reads = isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Load)
        if reads and each not in inside and ast.unparse(each) == holder:
            return True
    return False


def _asked_about(node: ast.AST) -> Iterator[ast.AST]:
    """What is asked whether it is there, or how long it is; looking for something in it reads it."""
    if isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.In | ast.NotIn):
        yield from ast.walk(node)
    elif isinstance(node, ast.Attribute) and node.attr == "shape":
        yield node.value


def _given_again(node: ast.AST, holder: str) -> Iterator[ast.AST]:
    """What only moves the whole, `total = total.cuda()`, or joins it in another arm."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return
    pairs = [(node.targets[0], node.value)]
    if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = list(zip(node.targets[0].elts, node.value.elts, strict=False))
    for given, each in pairs:
        joined = isinstance(each, ast.Call) and last_name(each) in _NAMES and _joins(each, holder)
        if ast.unparse(given) == holder and (joined or ast.unparse(_moved(each)) == holder):
            yield from ast.walk(each)


def _begins_anew(loop: ast.For | ast.While, assigned: ast.Assign, holder: str) -> bool:
    """Whether each turn, or an inner loop's end, empties it."""
    firsts = {part for each in ast.walk(loop) if isinstance(each, ast.If) and _asks_if_empty(each, assigned, holder)
              for part in each.body}  # fmt: skip
    others = [each for each in ast.walk(loop) if isinstance(each, ast.Assign) and each not in {assigned, *firsts}]
    others = [each for each in others if not any(_given_again(each, holder))]
    targets = [target for each in others if _is_first(each, assigned) for target in each.targets]
    return any(ast.unparse(each) == holder for each in targets)


def _asks_if_empty(test: ast.If, assigned: ast.Assign, holder: str) -> bool:
    """Whether a condition stands before the first part: `if total is None`."""
    if assigned in test.orelse:
        return True
    asked = test.test.left if isinstance(test.test, ast.Compare) else test.test
    return isinstance(test.test, ast.Compare) and ast.unparse(asked) == holder


def _is_first(other: ast.Assign, assigned: ast.Assign) -> bool:
    return other.lineno < assigned.lineno and other.col_offset <= assigned.col_offset


def _is_over_batches(project: Project, module: Module, loop: ast.For | ast.While) -> bool:
    """Whether there are many turns: one for each batch, or for each sample; parts of an object are a few."""
    if isinstance(loop, ast.While):
        return False
    if isinstance(loop.iter, ast.Call) and last_name(loop.iter) in _OF_PARTS:
        return False
    return bool(_MANY.search(ast.unparse(loop.iter))) or project.flow.value(module, loop.iter).gives_batches


_OF_PARTS = frozenset({"items", "keys", "values", "fields", "named_children", "children"})
_MANY = re.compile(
    r"(?<![a-z])(\w*load\w*|\w*batch\w*|data_?(set|loader)?s?|train\w*_set|\w*_dl|dl)(?![a-z])", re.IGNORECASE
)
"""In what a loop goes through: of an `adata` or a `dataclass` there is one."""


RULE = Rule(
    id="growing-concatenation",
    severity=Severity.WARNING,
    summary="A tensor, array or table grows by concatenation in a loop.",
    cause="Each concatenation allocates new memory and copies everything so far: n iterations copy n²/2 parts.",
    change="Append the parts to a list and concatenate once after the loop.",
    expected="up to n/2 times less copying over n iterations",
    source="number of copies; pandas' documentation recommends a list and one concat: "
    "https://pandas.pydata.org/docs/reference/api/pandas.concat.html",
    before="for x in loader:\n    outputs = torch.cat([outputs, model(x)])",
    after="parts = []\nfor x in loader:\n    parts.append(model(x))\noutputs = torch.cat(parts)",
    look=look,
)
