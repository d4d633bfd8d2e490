"""What loops go through, as their text tells: batches, parts of a model, what is kept for evaluation."""

import ast
import re
from collections.abc import Iterator, Sequence

from flyball_audit.index import names_below
from flyball_audit.module import Loop, Module, last_name
from flyball_audit.names import code_of
from flyball_audit.regions import Region

EVALUATION = re.compile(
    r"eval|valid|(?<![a-z])(val|dev)(?![a-z])|(?<![a-z])test|infer|predict|benchmark_model", re.IGNORECASE
)
"""In names of functions and loaders: no training goes on there."""

OF_DATA = re.compile(r"load|data|batch|_dl\b")
OF_PARTS = re.compile(r"\.(named_)?(children|modules|parameters|buffers)\(")
"""In what a loop goes through: batches, or the parts of a model."""

OF_BATCHES = re.compile(r"loader|batches|_dl\b")
"""… batches for certain."""

_FETCH = re.compile(r"^_?(get|next|fetch|load|draw)_(\w+_)?batch$", re.IGNORECASE)
"""Functions that give one batch a call."""

_KEPT_BACK = re.compile(
    r"^_?(val(id(ation)?)?|test(ing)?|eval(uation)?|dev)(_\w*)?(set|samples?|graphs?|pairs|examples|images|sentences|x|dl"
    r"|inputs?|queries|windows|sequences|split|items|files|paths)s?$",
    re.IGNORECASE,
)
"""Names of what is kept for evaluation, item by item."""


def goes_through_learners(loop: Loop, around: Sequence[Loop]) -> bool:
    """Whether a loop inside one over batches goes through what learns from each: students, losses."""
    if not isinstance(loop, ast.For) or OF_DATA.search(code_of(loop.iter)):
        return False
    over_batches = any(isinstance(each, ast.For) and OF_BATCHES.search(code_of(each.iter)) for each in around[:1])
    return over_batches and _LEARNERS.search(code_of(loop.iter)) is not None


_LEARNERS = re.compile(
    r"(?<![a-z])(loss(es)?|optim(izer)?s?|models|networks|nets|students|teachers|cohort|learners|agents|members|critics"
    r"|discriminators|generators|heads|experts|ensemble)(?![a-z])",
    re.IGNORECASE,
)


def first_statement(node: Loop) -> ast.stmt:
    """The first statement of a loop's body, that of a `with` in its place."""
    first = node.body[0]
    return first.body[0] if isinstance(first, ast.With) else first


def fetches_batches(module: Module, node: Loop) -> bool:
    """Whether each turn asks for a batch: `for _ in range(n): x, y = get_batch("val")`."""
    return any(_FETCH.search(last_name(call)) for call in Region(module, node).all(ast.Call))


def only_counts(module: Module, loop: ast.AST) -> bool:
    """Whether a loop over numbers takes no batches by them: tokens, trials; who calls it decides on history."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or not isinstance(loop.target, ast.Name):
        return False
    numbers = _made_of_number(module, loop)
    used = any(not numbers.isdisjoint(names_below(each.slice)) for each in Region(module, loop).all(ast.Subscript))
    return last_name(loop.iter) in {"range", "trange"} and not used and not fetches_batches(module, loop)


def takes_parts(module: Module, node: ast.For | ast.AsyncFor) -> bool:
    """Whether each turn brings its part of the data over, by the turn's number: `x[i : i + n].to(device)`."""
    over = gone_through(node)
    if not isinstance(over, ast.Call) or last_name(over) not in {"range", "trange"}:
        return False
    numbers = _made_of_number(module, node)
    return any(
        isinstance(part, ast.Subscript) and not numbers.isdisjoint(names_below(part.slice))
        for call in Region(module, node).all(ast.Call)
        for part in _brought(call)
    )


def takes_slices(module: Module, loop: ast.For | ast.AsyncFor) -> bool:
    """Whether each turn takes a slice that begins at the turn's number, and ends by it: `rows[i : i + n]`."""
    number = loop.target.id if isinstance(loop.target, ast.Name) else None
    return number is not None and any(
        isinstance(each.lower, ast.Name)
        and each.lower.id == number
        and isinstance(each.upper, ast.BinOp)
        and number in names_below(each.upper)
        for each in Region(module, loop).all(ast.Slice)
    )


def _made_of_number(module: Module, loop: ast.For | ast.AsyncFor) -> frozenset[str]:
    """The variable that counts a loop's turns, and what arithmetic makes of it alone: `start = size * turn`."""
    number = getattr(loop.target, "id", "")
    made = (each for each in Region(module, loop).all(ast.Assign) if isinstance(each.value, ast.BinOp))
    of_it = (each.targets[0] for each in made if number in names_below(each.value))
    return frozenset({number, *(each.id for each in of_it if isinstance(each, ast.Name))})


def _brought(call: ast.Call) -> Iterator[ast.expr]:
    """What a call makes a tensor of, or moves to a device."""
    if last_name(call) in {"to", "cuda"} and isinstance(call.func, ast.Attribute):
        yield call.func.value
    elif last_name(call) in {"from_numpy", "as_tensor", "tensor", "FloatTensor"}:
        yield from call.args[:1]


def goes_through_kept(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop goes through what is kept for evaluation, with its number perhaps: `tqdm(self.testing_graphs)`."""
    over = gone_through(node)
    if not isinstance(over, ast.Name | ast.Attribute):
        return False
    return _KEPT_BACK.search(code_of(over).rpartition(".")[2]) is not None


def gone_through(node: ast.For | ast.AsyncFor) -> ast.expr:
    """What a loop goes through, without what only counts or shows: `enumerate(tqdm(rows))`."""
    over = node.iter
    while isinstance(over, ast.Call) and last_name(over) in _WALKING and over.args:
        over = over.args[0]
    return over


_WALKING = frozenset({"tqdm", "trange", "enumerate", "zip", "track", "iter", "progress_bar", "list"})
