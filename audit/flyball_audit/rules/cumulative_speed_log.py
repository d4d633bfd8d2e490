"""`cumulative-speed-log`: the speed that is logged is the mean since the start, in which no change shows."""

import ast
from collections.abc import Iterator

from flyball_audit.finding import Severity
from flyball_audit.loops import Turns
from flyball_audit.module import last_name
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import LIKELY, Match, Rule
from flyball_audit.shapes import assigned_before

CLOCKS = frozenset({
    "time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "time.perf_counter_ns", "timeit.default_timer",
    "datetime.datetime.now", "datetime.datetime.utcnow", "time.process_time",
})  # fmt: skip


def look(module: Module, project: Project) -> Iterator[Match]:
    """Divisions of a count by the time since a start that the loop never moves."""
    for turns in project.loops.training_of(module):
        regions = project.loops.regions(turns)
        for region in regions:
            for division in region.all(ast.BinOp):
                if isinstance(division.op, ast.Div | ast.FloorDiv) and _is_cumulative(region, turns, regions, division):
                    yield _match(region, turns, division)


def _is_cumulative(region: Region, turns: Turns, regions: tuple[Region, ...], division: ast.BinOp) -> bool:
    if _is_of_sums(regions, division):
        return True
    start = _start_of(region.module, division.right)
    if start is None or any(start in _assigned(each) for each in regions):
        return False
    counts = region.module.names_in(division.left)
    growing = _grown(regions) | _counters(turns)
    renewed = {name for each in regions for name in _assigned(each)} - growing
    return bool(counts & growing) and not counts & renewed and start not in counts


def _is_of_sums(regions: tuple[Region, ...], division: ast.BinOp) -> bool:
    """Whether all that was ever counted is divided by all the time that was ever added up."""
    counted, spent = _name(division.left), _name(division.right)
    sums = ((each.module, added) for each in regions for added in each.all(ast.AugAssign))
    timed = any(_name(added.target) == spent and _is_difference(module, added.value) for module, added in sums)
    return timed and {counted, spent} <= _grown(regions)


def _is_difference(module: Module, spent: ast.expr) -> bool:
    """Whether it is the time since something, as `now - start` says."""
    return isinstance(spent, ast.BinOp) and isinstance(spent.op, ast.Sub) and _is_now(module, spent.left)


def _start_of(module: Module, node: ast.expr, depth: int = 0) -> str | None:
    """Of `now - start`, also through a variable, `.total_seconds()`, `max(…)`: the name of the start."""
    if isinstance(node, ast.Name) and depth < 3:
        given = assigned_before(module, node)
        return _start_of(module, given, depth + 1) if given is not None else None
    if isinstance(node, ast.Call):
        inner = node.func.value if isinstance(node.func, ast.Attribute) and last_name(node) == "total_seconds" else None
        candidates = [inner] if inner is not None else list(node.args) if last_name(node) in {"max", "float"} else []
        return next((found for each in candidates if (found := _start_of(module, each, depth + 1))), None)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _start_of(module, node.left, depth + 1) or _start_of(module, node.right, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _is_now(module, node.left):
        return _name(node.right)
    return None


def _is_now(module: Module, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        given = assigned_before(module, node)
        return isinstance(given, ast.Call) and _is_now(module, given)
    return isinstance(node, ast.Call) and (module.qualified(node.func) or "") in CLOCKS


def _name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _assigned(region: Region) -> set[str]:
    """The names that a turn gives a new value, sums aside."""
    found = set()
    for each in region.all(ast.Assign):
        for target in each.targets:
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            said = region.module.names_in(each.value)
            found |= {name for part in parts if (name := _name(part)) is not None and name not in said}
    return found


def _grown(regions: tuple[Region, ...]) -> set[str]:
    """The names that a turn adds to, and never begins anew."""
    grown = {name for each in regions for added in each.all(ast.AugAssign) if (name := _name(added.target)) is not None}
    for each in regions:
        for plain in each.all(ast.Assign):
            said = each.module.names_in(plain.value)
            grown |= {name for target in plain.targets if (name := _name(target)) is not None and name in said}
    return grown - {name for each in regions for name in _assigned(each)}


def _counters(turns: Turns) -> frozenset[str]:
    """The loop's own counter: of `enumerate`, of `range`."""
    node = turns.node
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
        return frozenset()
    called = last_name(node.iter)
    if called in {"range", "trange"}:
        return turns.module.names_in(node.target)
    if called == "enumerate" and isinstance(node.target, ast.Tuple):
        return turns.module.names_in(node.target.elts[0])
    return frozenset()


def _match(region: Region, turns: Turns, division: ast.BinOp) -> Match:
    return Match(
        division,
        f"`{region.module.quote(division)}` is the mean speed since the start",
        f"the loop at {turns.module.path}:{turns.node.lineno} never resets the start, so after an hour a step that "
        "takes twice as long changes the value by a thousandth",
        LIKELY,
        module=region.module,
    )


RULE = Rule(
    id="cumulative-speed-log",
    severity=Severity.NOTE,
    summary="The logged speed is the mean since the start of the run.",
    cause="Start-up, compilation and pauses stay in the mean forever, and a slowdown in hour ten does not show.",
    change="Reset the start time and the count at each report, and log both the recent speed and the mean.",
    expected="no time by itself; slowdowns become visible when they happen",
    source="arithmetic: a slower step changes the mean over n steps by only 1/n of the difference",
    before="print(seen / (time.time() - start))",
    after="now = time.time()\nprint((seen - last_seen) / (now - last))\nlast, last_seen = now, seen",
    look=look,
)
