"""`loader-not-persistent`: worker processes end with each epoch and are started anew in the next."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.built import is_built_for_training
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.callees import calls_to
from flyball_audit.index import nodes_below
from flyball_audit.loaders import Loader, loaders, loops_over
from flyball_audit.mentions import mentions
from flyball_audit.module import Function, Loop
from flyball_audit.names import code_of
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region, reached
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule
from flyball_audit.worker_counts import has_none_by_default

SINGLE_EPOCH = re.compile(r"max_epochs\s*=\s*1\b|max_steps\s*=(?![\s\w.]*episode)")
SEVERAL_EPOCHS = re.compile(r"max_epochs\s*=")


def look(module: Module, project: Project) -> Iterator[Match]:
    """Loaders with workers that several epochs run over, and that do not keep them."""
    for loader in loaders(module, project):
        kept = loader.argument("persistent_workers")
        let_go = loader.misses("persistent_workers") or (isinstance(kept, ast.Constant) and kept.value is False)
        given = loader.argument("num_workers") is not None or "num_workers" in loader.within
        several = given and loader.constant("num_workers") != 0
        why = _why(project, loader) if let_go and several else None
        if why is None and let_go and several and _is_made_in_each_epoch(loader):
            yield _anew(loader)
        if why is not None:
            yield Match(
                loader.call,
                f"`{module.quote(loader.call)}` starts new workers in each epoch",
                f"{why}, and `persistent_workers` is not set, so each epoch begins with starting processes and "
                "filling queues",
                LIKELY if why == _SEEN else SUSPECTED,
                edit=loader.setting("persistent_workers", "True"),
            )


def _is_made_in_each_epoch(loader: Loader) -> bool:
    """Whether a loop over epochs makes it itself, of a data set that is made before and stays as it is."""
    module = loader.module
    loop = next((each for each in module.ancestors(loader.call) if isinstance(each, Loop | Function)), None)
    data = loader.call.args[0] if loader.call.args else None
    if not isinstance(loop, ast.For) or not isinstance(data, ast.Name) or not _EPOCHS.search(ast.unparse(loop.target)):
        return False
    touched = {each.id for each in nodes_below(loop) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    asked = (each for each in nodes_below(loop) if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name))
    return touched.isdisjoint(module.names_in(loader.call)) and all(code_of(each.value) != data.id for each in asked)


def _anew(loader: Loader) -> Match:
    return Match(
        loader.call,
        f"`{loader.module.quote(loader.call)}` creates a loader and starts new workers in each epoch",
        "the loop over epochs creates it, so each epoch begins with starting processes and filling queues",
        SUSPECTED,
        change="Create it once before the loop over epochs, with `persistent_workers=True`, unless the data set "
        "changes between epochs.",
    )


_SEEN = "several epochs iterate over it"


def _why(project: Project, loader: Loader) -> str | None:
    """What tells that each epoch goes through a loader; None if nothing does."""
    if _has_epochs(project, loader):
        return _SEEN
    if _is_beside_epochs(project, loader):
        return "it is passed to a function next to a loop over epochs"
    one_epoch = mentions(project, loader.module, SINGLE_EPOCH)
    if not one_epoch and is_built_for_training(project, loader) and not _has_none_of_its_own(project, loader):
        return "it probably serves several epochs, but no loop over it is in these files"
    return None


def _has_none_of_its_own(project: Project, loader: Loader) -> bool:
    """Whether what builds it has no workers unless its caller asks for some; what a setting says, users change."""
    return isinstance(loader.argument("num_workers"), ast.Name) and has_none_by_default(project, loader)


def _has_epochs(project: Project, loader: Loader) -> bool:
    function = loader.module.function_of(loader.call)
    if function is not None and function.name in {"train_dataloader", "val_dataloader"}:
        several = mentions(project, loader.module, SEVERAL_EPOCHS) and not mentions(
            project, loader.module, SINGLE_EPOCH
        )
        return several and "lightning" in loader.module.frameworks
    loops: list[tuple[Module, ast.AST]] = [*loops_over(project, loader)]
    shared = any(len(project.flow.value(module, getattr(node, "iter", node)).makers) > 1 for module, node in loops)
    over = loops if loops and not shared else list(_handing(project, loader)) or loops
    return any(_is_repeated(project, module, node, loader) for module, node in over)


def _is_beside_epochs(project: Project, loader: Loader) -> bool:
    """Whether it is made before a loop over epochs, which hands none of it on, and goes to what is not at hand."""
    module, function = loader.module, loader.module.function_of(loader.call)
    made = module.statement(loader.call)
    names = {each.id for each in ast.walk(made) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    calls = (each for each in module.all(ast.Call) if module.function_of(each) is function)
    handed = any(names & module.names_in(each) and not project.flow.callees(module, each) for each in calls)
    epochs = (
        each for each in module.all(ast.For) if module.function_of(each) is function and each.lineno > made.lineno
    )
    return handed and not loops_over(project, loader) and any(_EPOCHS.search(ast.unparse(each.iter)) for each in epochs)


_EPOCHS = re.compile(r"epoch", re.IGNORECASE)


def _handing(project: Project, loader: Loader) -> Iterator[tuple[Module, ast.AST]]:
    """The calls that hand it to a function of the project which goes through what it is handed."""
    module = loader.module
    for call in module.all(ast.Call):
        made = [project.flow.value(module, each).made_at for each in call.args]
        if any(each is not None and each[1] is loader.call for each in made) and _leads_to_loop(project, module, call):
            yield module, call


def _leads_to_loop(project: Project, module: Module, call: ast.Call) -> bool:
    called = [Region(home, node) for home, node in project.flow.callees(module, call) if isinstance(node, Function)]
    regions = [region for each in called for region in reached(project, each)]
    loops = [(region.module, each) for region in regions for each in region.all(ast.For)]
    return any(project.flow.value(home, each.iter).gives_batches for home, each in loops)


DEEPEST = 3
"""Functions between the loop over epochs and the one over batches."""


def _is_repeated(project: Project, module: Module, node: ast.AST, loader: Loader, depth: int = DEEPEST) -> bool:
    """Whether a loop over the loader, or a call that leads to it, runs again and again, while the loader stays."""
    for above in module.ancestors(node):
        if isinstance(above, Loop):
            return not _holds(above, loader.call)
        if isinstance(above, Function):
            calls = calls_to(project.flow, module, above) if depth else ()
            return any(_is_repeated(project, there, call, loader, depth - 1) for there, call in calls)
    return False


def _holds(loop: ast.AST, call: ast.Call) -> bool:
    return any(each is call for each in nodes_below(loop))


RULE = Rule(
    id="loader-not-persistent",
    severity=Severity.NOTE,
    summary="A DataLoader starts new workers in each epoch.",
    cause="Without `persistent_workers=True`, each epoch ends its worker processes and starts new ones, which "
    "import modules, open files and fill the queues again.",
    change="Set `persistent_workers=True`, unless the main process changes the data set between epochs.",
    expected="the start of the workers, once an epoch: 10 s, or 1.25× in short epochs, on Windows, where processes "
    "are spawned; no difference in the same training on Linux, where they are forked",
    source="https://github.com/boreshkinai/delta-interpolator/pull/3",
    before="DataLoader(dataset, batch_size=64, num_workers=8)",
    after="DataLoader(dataset, batch_size=64, num_workers=8, persistent_workers=True)",
    look=look,
    gain=Gain(Time.INPUT, 1.25),
)
