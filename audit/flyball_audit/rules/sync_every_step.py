"""`sync-every-step`: the host reads the device's values in every step, and both wait for each other."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from flyball_audit.doubts import Doubt, doubt_of, is_worth_a_note
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.values import Tag
from flyball_audit.guards import SELDOM, Rarity
from flyball_audit.host_alone import host_doubt
from flyball_audit.loops import Kind, Turns
from flyball_audit.names import code_of
from flyball_audit.periods import may_be_each_turn
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import CERTAIN, LIKELY, SUSPECTED, Match, Rule
from flyball_audit.shared_loops import is_of_evaluation
from flyball_audit.steering import follows
from flyball_audit.unasked import is_off_by_default
from flyball_audit.unseen import noted
from flyball_audit.wait import Wait, told
from flyball_audit.waits import waits


class Site(NamedTuple):
    """A wait and the region where it stands."""

    region: Region
    wait: Wait
    rarity: Rarity | None
    doubt: Doubt | None


def look(module: Module, project: Project) -> Iterator[Match]:
    """The waits in each turn of the module's training loops."""
    for turns in (*project.loops.training_of(module), *project.loops.around_steps_of(module)):
        sites = [each for each in _sites(project, turns) if not is_of_evaluation(project, turns, each.wait.node)]
        counted = [each for each in sites if each.rarity is not Rarity.RANK and each.doubt is None]
        for site in sites:
            together = {each.wait.node for each in counted if not _excludes(site, each)}
            yield _match(project, turns, site, len(together))
    for turns in project.loops.supposed_of(module, Kind.STEP):
        for site in _sites(project, turns):
            if is_worth_a_note(turns, site.region, site.wait, site.doubt):
                yield noted(_match(project, turns, site, 1), turns.module, turns.node)


def _excludes(site: Site, other: Site) -> bool:
    """Whether a turn runs one or the other: they stand in two arms of a condition."""
    if site.region.root is not other.region.root:
        return False
    arms = dict(_arms(site))
    return any(arms.get(test, arm) != arm for test, arm in _arms(other))


def _arms(site: Site) -> Iterator[tuple[ast.If, bool]]:
    """The conditions around a wait, and whether it stands where they hold."""
    below: ast.AST = site.wait.node
    for above in site.region.module.ancestors(below):
        if above is site.region.root:
            return
        if isinstance(above, ast.If) and below is not above.test:
            yield above, below in above.body
        below = above


def _sites(project: Project, turns: Turns) -> Iterator[Site]:
    regions = project.loops.regions(turns)
    on_host = host_doubt(project, turns.module, regions)
    for region in regions:
        found = list(waits(project, region))
        asked = frozenset(each.node for each in found)
        for wait in found:
            rarity = region.rarity(wait.node)
            if rarity not in SELDOM | {Rarity.EVALUATED}:
                behind = Doubt.BEHIND if follows(region, wait.node, asked) else None
                off = Doubt.UNASKED if is_off_by_default(project, region, wait.node) else None
                yield Site(region, wait, rarity, on_host or behind or off or doubt_of(turns, region, wait))
            elif rarity is Rarity.PERIODIC and may_be_each_turn(project, regions, region, wait.node):
                yield Site(region, wait, rarity, Doubt.PERIOD)


def _match(project: Project, turns: Turns, site: Site, count: int) -> Match:
    region, wait, rarity, doubt = site
    loop = f"the training loop at {turns.module.path}:{turns.node.lineno}"
    often = _often(project, turns, site)
    if often is not None:
        because, severity, confidence = f"it runs {often} of {loop}", Severity.WARNING, CERTAIN
    elif count > 1:
        because, severity, confidence = f"it is one of {count} waits in each step of {loop}", Severity.WARNING, LIKELY
    else:
        because, severity, confidence = f"it is the only wait in each step of {loop}", Severity.NOTE, LIKELY
    if _acts(project, turns) and not wait.value.tags & _LEARNT:
        because, severity, confidence = (
            f"{because}; an environment may need the value at once",
            Severity.NOTE,
            SUSPECTED,
        )
    if rarity is Rarity.RANK:
        because, severity, confidence = (
            f"it runs in each step of {loop} on one rank, and the other ranks wait for that rank",
            Severity.NOTE,
            SUSPECTED,
        )
    elif rarity in {Rarity.CONFIG, Rarity.OTHER}:
        because, confidence = f"{because}, and runs under a condition", SUSPECTED
    if doubt is not None:
        because, severity, confidence = f"{because}; {doubt.value}", Severity.NOTE, SUSPECTED
    return Match(wait.node, told(region, wait), because, confidence, severity, module=region.module)


_LEARNT = frozenset({Tag.LOSS, Tag.GRADIENT, Tag.NORM, Tag.PARAMETER})

_ENVIRONMENT = re.compile(r"(^|[._])(\w*envs?|environment|simulator|gym)$", re.IGNORECASE)


def _acts(project: Project, turns: Turns) -> bool:
    """Whether the loop moves an environment, which takes its actions from the host: `env.step(action)`."""
    calls = (each.func for region in project.loops.regions(turns) for each in region.all(ast.Call))
    return any(
        isinstance(each, ast.Attribute) and each.attr == "step" and _ENVIRONMENT.search(code_of(each.value))
        for each in calls
    )


def _often(project: Project, turns: Turns, site: Site) -> str | None:
    """How a wait runs several times an optimizer step, if it does."""
    region, wait, rarity, _ = site
    if project.loops.is_over_parameters(region, wait.node):
        return "once for each parameter in each step"
    if project.loops.is_micro(region, wait.node):
        return "in each micro-step"
    if project.loops.accumulates(turns) and rarity is not Rarity.ACCUMULATED:
        return "in each micro-step"
    if region.nesting(wait.node) or region.in_comprehension(wait.node):
        return "several times in each step"
    return None


RULE = Rule(
    id="sync-every-step",
    severity=Severity.WARNING,
    summary="The host reads a value from the device in every training step.",
    cause="`.item()`, `.cpu()`, `float()`, `print` and `if` on a tensor of the device stop the host until all "
    "queued kernels are done. The device is then idle until the host has queued new ones.",
    change="Keep the sum on the device (`total += loss.detach()`) and read it every N steps, or once after the loop.",
    expected="up to 2× if host and device have equal amounts of work; most reports are of 1.05 to 1.1×",
    source="a wait costs the shorter of the two times; 15 waits, 152.2 to 144.6 ms a step: "
    "https://github.com/facebookresearch/fairchem/pull/2203; 1.05 to 1.1×: "
    "https://github.com/openvdb/fvdb-reality-capture/pull/144; 2×: "
    "https://github.com/jolibrain/joliGEN/pull/374",
    before="for x, y in loader:\n    loss = step(x, y)\n    total += loss.item()",
    after="total = torch.zeros((), device=device)\nfor x, y in loader:\n    loss = step(x, y)\n    total += "
    "loss.detach()\n"
    "print(total.item() / len(loader))",
    look=look,
    gain=Gain(Time.HOST, 2.0),
)
