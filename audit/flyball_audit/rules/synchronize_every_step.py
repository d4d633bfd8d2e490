"""`synchronize-every-step`: the host, or all ranks, are made to wait in every step."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.guards import Rarity
from flyball_audit.index import nodes_below
from flyball_audit.loops import Kind, Turns
from flyball_audit.module import Function, last_name
from flyball_audit.names import code_of
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import CERTAIN, LIKELY, SUSPECTED, Match, Rule
from flyball_audit.told import told

_DEVICE = re.compile(
    r"^torch\.(cuda|xpu|mps|npu|accelerator)\.synchronize$"
    r"|^torch\.(cuda|xpu)\.(streams\.)?(Stream|Event|current_stream|default_stream)\(\)\.synchronize$"
)
_RANKS = re.compile(
    r"^torch\.distributed\.(distributed_c10d\.)?barrier$|^accelerate\.Accelerator\(\)\.wait_for_everyone$"
)
_BY_KIND = re.compile(r"^getattr\(torch, .*\)\.synchronize$")
"""`getattr(torch, device.type).synchronize()`: of whichever kind the device is."""

_STRATEGY = re.compile(r"(^|\.)(strategy|fabric)\.barrier$")
"""Lightning's, of which the trainer is handed in from outside."""

_OFTEN = frozenset({None, Rarity.ACCUMULATED})
_WHO_KNOWS = frozenset({Rarity.CONFIG, Rarity.OTHER})
"""Behind a setting, or what the data say: worth a note."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Explicit waits in each turn of the module's loops; what evaluates waits for each batch's result besides."""
    yield from told(module, project, _in, Kind.STEP)
    for match in told(module, project, _in, Kind.EVALUATION):
        yield replace(match, severity=Severity.NOTE, confidence=SUSPECTED)
    for holder in module.all(ast.ClassDef):
        if _TIMERS.search(holder.name):
            yield from _in_timer(module, project, holder)


_TIMERS = re.compile(r"(Timer|Stop_?[Ww]atch)s?$")


def _in_timer(module: Module, project: Project, holder: ast.ClassDef) -> Iterator[Match]:
    """What a stopwatch waits for: whoever measures his steps by it waits in each of them."""
    for method in (each for each in holder.body if isinstance(each, Function) and each.name != "__init__"):
        region = Region(module, method)
        for call in region.all(ast.Call):
            words = _waits(project, region, call) or _waits_by_attribute(project, region, holder, call)
            if words is not None:
                yield Match(
                    call,
                    f"`{module.quote(call)}` runs whenever `{holder.name}` measures: {words}",
                    "every step that it measures waits for the device",
                    SUSPECTED,
                    Severity.NOTE,
                )


def _waits_by_attribute(project: Project, region: Region, holder: ast.ClassDef, call: ast.Call) -> str | None:
    """Who waits in what a constructor keeps for it: `self.wait = lambda: torch.cuda.synchronize(device)`."""
    called = code_of(call.func)
    given = (each for each in nodes_below(holder) if isinstance(each, ast.Assign))
    kept = (each.value for each in given if any(code_of(target) == called for target in each.targets))
    inside = (each.body for each in kept if isinstance(each, ast.Lambda))
    found = (_waits(project, region, each) for each in inside if isinstance(each, ast.Call))
    return next((words for words in found if words is not None), None)


def _in(project: Project, turns: Turns) -> Iterator[Match]:
    for region in project.loops.regions(turns):
        for call in region.all(ast.Call):
            words = _waits(project, region, call) or _waits_by_helper(project, region, call)
            if words is not None and region.rarity(call) in _OFTEN | _WHO_KNOWS:
                yield _match(turns, region, call, words)


def _measures(region: Region, call: ast.Call) -> bool:
    """Whether its function or file is called a measurement, which must wait for what it measures."""
    function = region.module.function_of(call)
    names = (region.module.name.rpartition(".")[2], getattr(function, "name", ""))
    return any(_MEASURING.search(each) for each in names)


_MEASURING = re.compile(r"bench|profil", re.IGNORECASE)


def _match(turns: Turns, region: Region, call: ast.Call, words: str) -> Match:
    rarity = region.rarity(call)
    loop = f"each iteration of the loop at {turns.module.path}:{turns.node.lineno} runs it"
    often = rarity in _OFTEN
    sure = often and not _measures(region, call)
    return Match(
        call,
        f"`{region.module.quote(call)}` runs in every step: {words}",
        loop if often else f"{loop}, under a condition",
        (CERTAIN if rarity is None else LIKELY) if sure else SUSPECTED,
        Severity.WARNING if sure else Severity.NOTE,
        module=region.module,
    )


def _waits(project: Project, region: Region, call: ast.Call) -> str | None:
    """Who waits for whom."""
    if last_name(call) not in {"synchronize", "barrier", "wait_for_everyone"}:
        return None
    path = project.origins.of(region.module, call.func) or ""
    if _DEVICE.search(path) or _BY_KIND.search(code_of(call.func)):
        return "the host waits until the device has finished all queued work"
    return (
        "every rank waits for the slowest one" if _RANKS.search(path) or _STRATEGY.search(code_of(call.func)) else None
    )


def _waits_by_helper(project: Project, region: Region, call: ast.Call) -> str | None:
    """Who waits for whom in a function of the project that does nothing else."""
    for module, function in project.flow.callees(region.module, call):
        waiting = _only_call(function) if isinstance(function, Function) else None
        if isinstance(function, Function) and waiting is not None:
            words = _waits(project, Region(module, function), waiting)
            if words is not None:
                return words
    return None


def _only_call(function: Function) -> ast.Call | None:
    """The call that is all that a function does, besides what it says of itself."""
    told = [each.value for each in function.body if isinstance(each, ast.Expr | ast.Return)]
    plain = len(told) == len(function.body) and all(isinstance(each, ast.Constant) for each in told[:-1])
    return told[-1] if plain and isinstance(told[-1], ast.Call) else None


RULE = Rule(
    id="synchronize-every-step",
    severity=Severity.WARNING,
    summary="The host waits for the device, or for all ranks, in every step.",
    cause="Kernels are queued in advance so that the device is never idle. A synchronisation drains the queue, and "
    "a barrier delays every rank by the slowest one.",
    change="Remove it. Operations on a stream run in order, and the exchange of gradients keeps ranks together. To "
    "measure a step, record `torch.cuda.Event`s and read them every N steps.",
    expected="up to 2× if host and device have equal amounts of work; 1.25× reported for point clouds",
    source="a wait costs the shorter of the two times; https://github.com/HuguesTHOMAS/KPConv-PyTorch/issues/22",
    before="for x in loader:\n    step(x)\n    torch.cuda.synchronize()",
    after="for x in loader:\n    step(x)",
    look=look,
    gain=Gain(Time.HOST, 2.0),
)
