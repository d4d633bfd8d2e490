"""`gradient-norms-every-step`: the norm of each parameter's gradient is computed one by one in every step."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.values import Tag
from flyball_audit.guards import SELDOM
from flyball_audit.loops import Kind, Turns
from flyball_audit.module import last_name
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import CERTAIN, LIKELY, SUSPECTED, Match, Rule
from flyball_audit.told import told
from flyball_audit.unasked import is_optional

NORMS = frozenset({"norm", "vector_norm", "matrix_norm"})
SORTS = frozenset({"sorted", "sort", "argsort", "percentile", "quantile", "median"})
"""Calls that order all norms, where a few of the largest are wanted."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Norms of gradients in loops over parameters that each step runs."""
    return told(module, project, _in, Kind.STEP)


def _in(project: Project, turns: Turns) -> Iterator[Match]:
    for region in project.loops.regions(turns):
        for call in region.all(ast.Call):
            if _is_gradient_norm(project, region, call) and region.rarity(call) not in SELDOM:
                yield _match(project, turns, region, call)


def _is_gradient_norm(project: Project, region: Region, call: ast.Call) -> bool:
    """Whether a call reduces a gradient to a number, parameter by parameter."""
    last = last_name(call)
    if (region.module.qualified(call.func) or "").endswith(_EACH_OF_MODEL):
        return True
    reduces = last in NORMS or (last in _REDUCING and _measures(call))
    if not reduces or not (project.loops.is_over_parameters(region, call) or _is_over_gradients(project, region, call)):
        return False
    flow = project.flow
    return any(flow.value(region.module, each).has(Tag.GRADIENT) or _is_grad(each) for each in _parts(call))


_EACH_OF_MODEL = (".utilities.grad_norm", ".utilities.grads.grad_norm")
"""Lightning's function that gives a norm for each parameter of a module."""


def _parts(call: ast.Call) -> list[ast.expr]:
    """What is reduced, and its parts."""
    return [part for each in (*call.args[:1], call.func) for part in ast.walk(each) if isinstance(part, ast.expr)]


def _is_seen(project: Project, region: Region, call: ast.Call) -> bool:
    """Whether a gradient is seen to be reduced, and the loop to go through parameters: not by their names alone."""
    seen = any(project.flow.value(region.module, each).has(Tag.GRADIENT) for each in _parts(call))
    return seen and project.loops.is_over_parameters(region, call)


_REDUCING = frozenset({"sum", "max", "mean"})


def _measures(call: ast.Call) -> bool:
    """Whether squares or amounts are summed, or the largest is taken: `p.grad.pow(2).sum()`, `p.grad.abs().max()`."""
    held = call.func.value if isinstance(call.func, ast.Attribute) else call
    squared = isinstance(held, ast.BinOp) and isinstance(held.op, ast.Pow)
    return squared or (isinstance(held, ast.Call) and last_name(held) in {"pow", "square", "abs"})


def _is_grad(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "grad"


def _is_over_gradients(project: Project, region: Region, call: ast.Call) -> bool:
    """Whether a comprehension or loop around goes through what names call parameters or gradients."""
    around: list[ast.expr] = [each.iter for each in region.loops(call) if isinstance(each, ast.For)]
    for above in region.module.ancestors(call):
        if above is region.root:
            break
        if isinstance(above, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            around += [each.iter for each in above.generators]
    return any(_PARAMETERS.search(ast.unparse(each)) for each in around) or any(
        project.flow.value(region.module, each).has(Tag.GRADIENT) for each in around
    )


_PARAMETERS = re.compile(r"param|grads?\b|gradients")


def _match(project: Project, turns: Turns, region: Region, call: ast.Call) -> Match:
    plain = region.rarity(call) is None
    loop = f"the training loop at {turns.module.path}:{turns.node.lineno}"
    sorts = any(last_name(each) in SORTS for part in project.loops.regions(turns) for each in part.all(ast.Call))
    more = (
        " For the few largest ones use `heapq.nlargest(k, …)` or `torch.topk` instead of a full sort." if sorts else ""
    )
    is_seen = _is_seen(project, region, call)
    optional = is_optional(region, call)
    return Match(
        call,
        f"`{region.module.quote(call)}` runs for each parameter, in every step",
        f"{loop} runs it once for every parameter, each time as a small kernel"
        + (", and then sorts all of them" if sorts else "")
        + ("" if is_seen else "; judging by the names, these are the gradients of parameters")
        + ("; it runs only with an option that is off by default" if optional else ""),
        (CERTAIN if plain else LIKELY) if is_seen and not optional else SUSPECTED,
        None if is_seen and not optional else Severity.NOTE,
        change=RULE.change + more,
        module=region.module,
    )


RULE = Rule(
    id="gradient-norms-every-step",
    severity=Severity.WARNING,
    summary="The norms of gradients are computed one parameter at a time, in every step.",
    cause="A loop over parameters launches a small kernel for each of them and usually waits for each result: "
    "hundreds of kernels and waits in each step.",
    change="Use the total norm that `clip_grad_norm_` returns, or compute all norms at once with "
    "`torch._foreach_norm(grads)`; log them only every N steps.",
    expected="up to 1.4× with many parameters by our estimate, no published figure; even all at once, the norms of "
    "2,000 tensors took 18 ms on the host and 1.3 ms on the device",
    source="https://github.com/pytorch/pytorch/issues/133586; `clip_grad_norm_` returns the total norm",
    before="for p in model.parameters():\n    total += p.grad.norm().item() ** 2",
    after="total = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\nif step % 100 == 0:\n    log(total.item())",
    look=look,
    gain=Gain(Time.OPTIMIZER, 1.4),
)
