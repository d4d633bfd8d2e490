"""`sync-in-eval-loop`: evaluation reads each batch's result on the host, instead of all of them once."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.doubts import GIVING, Doubt, doubt_in_evaluation, doubt_of, is_worth_a_note
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.guards import SELDOM
from flyball_audit.host_alone import host_doubt
from flyball_audit.loops import Kind, Turns
from flyball_audit.module import Function, last_name
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule
from flyball_audit.shared_loops import is_of_evaluation, switch_of
from flyball_audit.unseen import noted
from flyball_audit.wait import Wait, told
from flyball_audit.waits import waits

TEXT = frozenset({"generate", "decode", "batch_decode", "sample"})
"""Calls in loops whose results are needed on the host one by one."""

_WRITING = re.compile(r"(?<![a-z])(generat|decod|sampl)")
"""In names of functions that are such a loop themselves."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """The waits in each turn of the module's evaluation loops."""
    for turns in project.loops.evaluation_of(module):
        on_host = host_doubt(project, module, project.loops.regions(turns))
        for region, wait in _sites(project, turns):
            yield _match(turns, region, wait, on_host)
    for turns in project.loops.training_of(module):
        for region, wait in _sites(project, turns) if switch_of(project, turns) is not None else ():
            if is_of_evaluation(project, turns, wait.node):
                yield _match(turns, region, wait, Doubt.OTHER)
    for turns in project.loops.supposed_of(module, Kind.EVALUATION):
        for region, wait in _sites(project, turns):
            if not _gives(turns) and is_worth_a_note(turns, region, wait, doubt_of(turns, region, wait)):
                yield noted(_match(turns, region, wait), turns.module, turns.node)


def _gives(turns: Turns) -> bool:
    return isinstance(turns.node, Function) and GIVING.search(turns.node.name) is not None


def _sites(project: Project, turns: Turns) -> Iterator[tuple[Region, Wait]]:
    """The waits of each batch; of a loop that makes up text, what it reads itself."""
    text = _writes_text(project, turns)
    if text is None:
        return
    for region in project.loops.regions(turns):
        for wait in waits(project, region):
            own = wait.is_explicit and not region.calls and not _moves(region, wait.node)
            if region.rarity(wait.node) not in SELDOM and (own or not text):
                yield region, wait


def _moves(region: Region, node: ast.expr) -> bool:
    """Whether an environment is handed it, `env.step(action.cpu().numpy())`, which takes its actions from the host."""
    return any(isinstance(each, ast.Call) and last_name(each) == "step" for each in region.module.ancestors(node))


def _match(turns: Turns, region: Region, wait: Wait, on_host: Doubt | None = None) -> Match:
    nested = region.nesting(wait.node) > 0 and not region.calls  # what a callee does for each may be its task
    often = "several times for each batch" if nested else "for each batch"
    doubt = on_host or doubt_in_evaluation(turns, region, wait) if nested else None
    because = f"it runs {often} of the evaluation at {turns.module.path}:{turns.node.lineno}"
    return Match(
        wait.node,
        told(region, wait),
        because if doubt is None else f"{because}; {doubt.value}",
        LIKELY if doubt is None else SUSPECTED,
        Severity.WARNING if nested and doubt is None else Severity.NOTE,
        module=region.module,
    )


def _writes_text(project: Project, turns: Turns) -> bool | None:
    """Whether texts or samples are made up in a turn; None if that is what the function is for."""
    function = turns.node if isinstance(turns.node, Function) else turns.module.function_of(turns.node)
    if function is not None and _WRITING.search(function.name):
        return None
    calls = (call for region in project.loops.regions(turns) for call in region.all(ast.Call))
    return any(last_name(each) in TEXT for each in calls)


RULE = Rule(
    id="sync-in-eval-loop",
    severity=Severity.NOTE,
    summary="An evaluation loop reads a value from the device for each batch.",
    cause="Each `.item()`, `.cpu()` or `print` waits until the batch is done, so the next batch is queued late.",
    change="Sum or collect the values on the device (`correct += (…).sum()`) and read them once after the loop.",
    expected="up to 2× if host and device have equal amounts of work for a batch; no published figure for evaluation",
    source="a wait costs the shorter of the two times; PyTorch's tuning guide, “Avoid unnecessary CPU-GPU "
    "synchronization”: https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    before="for x, y in loader:\n    correct += (model(x).argmax(1) == y).sum().item()",
    after="for x, y in loader:\n    correct += (model(x).argmax(1) == y).sum()\nprint(correct.item())",
    look=look,
    gain=Gain(Time.EVALUATION, 2.0),
)
