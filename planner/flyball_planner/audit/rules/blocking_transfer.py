"""`blocking-transfer`: batches are pinned, and the host waits for their copies all the same."""

import ast
import re
from collections.abc import Iterator

from flyball_planner.audit.finding import Action, Change, Edit, Severity
from flyball_planner.audit.flow.values import Tag
from flyball_planner.audit.given import argument, hides_arguments, is_constant
from flyball_planner.audit.loaders import Loader, behind, loaders, named_for
from flyball_planner.audit.loops import EVALUATION, Turns
from flyball_planner.audit.module import last_name
from flyball_planner.audit.project import Module, Project
from flyball_planner.audit.regions import Region
from flyball_planner.audit.rule import CERTAIN, SUSPECTED, Match, Rule


def look(module: Module, project: Project) -> Iterator[Match]:
    """Copies to the device, in turns that get pinned batches."""
    for turns in (*project.loops.training_of(module), *project.loops.evaluation_of(module)):
        confidence = _pinned(project, turns)
        for region in project.loops.regions(turns) if confidence is not None else ():
            for call in region.all(ast.Call):
                if _blocks(project, region, call):
                    yield _match(turns, region, call, confidence or SUSPECTED)


def _pinned(project: Project, turns: Turns) -> float | None:
    """How sure it is that each loader pins whose batches a turn is given, or fetches; None where one is seen not to.

    Where no loader is seen behind them, one that pins in files that know this one is supposed to be it.
    """
    found = [each for module, node in _sources(project, turns) for each in behind(project, module, node)]
    if found:
        return CERTAIN if all(_pins(each) for each in found) else None
    beside = (loader for each in project.beside(turns.module) for loader in loaders(each, project))
    seen = any(not EVALUATION.search(named_for(each)) for each in beside)
    return SUSPECTED if not seen and any(each.says(_PINNING) for each in project.connected(turns.module)) else None


_PINNING = re.compile(r"pin_memory=True")


def _pins(loader: Loader) -> bool:
    """Whether a loader pins; what an expression decides, such as whether there is a device, does where it matters."""
    said = loader.constant("pin_memory")
    given = loader.argument("pin_memory") is not None or "pin_memory" in loader.within
    return said is True or (said is ... and given)


def _sources(project: Project, turns: Turns) -> Iterator[tuple[Module, ast.expr]]:
    """What a turn gets batches from: the loop's own iterable, or what it asks for the next."""
    if isinstance(turns.node, ast.For):
        yield turns.module, turns.node.iter
    for region in project.loops.regions(turns):
        for call in region.all(ast.Call):
            if last_name(call) == "next" and call.args:
                yield region.module, call.args[0]


def _blocks(project: Project, region: Region, call: ast.Call) -> bool:
    if last_name(call) not in {"to", "cuda"} or not isinstance(call.func, ast.Attribute) or hides_arguments(call):
        return False
    said = argument(call, "non_blocking")
    if (said is not None and not is_constant(said, False)) or any(is_constant(each, True) for each in call.args):
        return False
    held = project.flow.value(region.module, call.func.value)
    is_batch = held.has(Tag.BATCH) and not held.has(Tag.DEVICE)
    return is_batch and project.flow.value(region.module, call).on_device


def _match(turns: Turns, region: Region, call: ast.Call, confidence: float) -> Match:
    module = region.module
    seen = "pins its batches" if confidence == CERTAIN else "pins its batches, as one among the files does"
    return Match(
        call,
        f"`{module.quote(call)}` waits until the copy is done",
        f"the loader of the turns at {turns.module.path}:{turns.node.lineno} {seen}: they could be copied "
        "beside the kernels",
        confidence,
        module=module,
        edit=Edit((Change(Action.SET_ARGUMENT, module.span(call), "True", "non_blocking"),), safe=True),
    )


RULE = Rule(
    id="blocking-transfer",
    severity=Severity.NOTE,
    summary="A pinned batch is copied with the host waiting.",
    cause="Without `non_blocking=True` the host waits for the copy, and for all kernels that were queued before it; "
    "from pinned memory it need not wait at all.",
    change="`.to(device, non_blocking=True)`: kernels queued behind it still see the whole batch.",
    expected="up to the copy and the wait before it, in each step; no published figure for it alone",
    source="PyTorch's “A guide on good usage of non_blocking and pin_memory()”: "
    "https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
    before="x = x.to(device)",
    after="x = x.to(device, non_blocking=True)",
    look=look,
    safe_fix=True,
)
