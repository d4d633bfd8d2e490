"""`anomaly-mode`: autograd's anomaly detection is left on."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.files import is_test_code
from flyball_audit.finding import Action, Change, Edit, Gain, Severity, Time
from flyball_audit.given import argument, is_constant
from flyball_audit.guards import guards
from flyball_audit.module import last_name
from flyball_audit.project import Module, Project
from flyball_audit.rule import CERTAIN, Match, Rule

_SWITCH = frozenset({"torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode.set_detect_anomaly"})
_CONTEXT = frozenset({"torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly"})
_TESTS = re.compile(r"(^|/)(test_|debug)[^/]*$|_test\.py$")


def look(module: Module, project: Project) -> Iterator[Match]:
    """Switches that are on, whatever the settings."""
    if _TESTS.search(module.path) or is_test_code(module):
        return
    for call in module.all(ast.Call):
        name = module.qualified(call.func)
        if name in _SWITCH and is_constant(argument(call, "mode", 0), True):
            statement = module.parent(call)
            change = Change(Action.REMOVE, module.span(statement)) if isinstance(statement, ast.Expr) else None
        elif last_name(call) == "Trainer" and is_constant(argument(call, "detect_anomaly"), True):
            change = Change(Action.DROP_ARGUMENT, module.span(call), name="detect_anomaly")
        elif name in _CONTEXT and _trains(module, project, call):
            change = None
        else:
            continue
        if not _is_chosen(module, call):
            yield _match(module, call, change)


def _trains(module: Module, project: Project, call: ast.Call) -> bool:
    """Whether a context stands in a training loop, or around one."""
    around = set(module.ancestors(call))
    inside = set(ast.walk(module.statement(call)))
    return any(
        region.root in around or turns.node in inside
        for turns in project.loops.training
        for region in project.loops.regions(turns)
    )


def _is_chosen(module: Module, call: ast.Call) -> bool:
    """Whether a setting or an error turns it on."""
    found = guards(module, call, module.tree)
    return any("__name__" not in ast.unparse(each.test) and not _refuses(module, each.test) for each in found)


def _refuses(module: Module, test: ast.AST) -> bool:
    """Whether a condition only leads to an error, as checks of arguments do, and not to the call."""
    above = module.parent(test)
    return isinstance(above, ast.If) and not above.orelse and isinstance(above.body[-1], ast.Raise)


def _match(module: Module, call: ast.Call, change: Change | None) -> Match:
    node = argument(call, "detect_anomaly") or call
    return Match(
        node,
        f"`{module.quote(call.func)}` turns anomaly detection on for every step",
        "no setting or condition controls it, so it is on in long runs too",
        CERTAIN,
        edit=Edit((change,)) if change is not None else None,
    )


RULE = Rule(
    id="anomaly-mode",
    severity=Severity.WARNING,
    summary="Autograd's anomaly detection is on.",
    cause="Each operation of the forward pass records its call stack, and each gradient is copied to the host and "
    "checked for NaN.",
    change="Turn it on only with a flag, for a run that searches for the origin of a NaN.",
    expected="up to 3× (3× and 2.5× reported for Lightning's switch, 2.4× for a VGG16)",
    source="https://github.com/Lightning-AI/pytorch-lightning/issues/12344 and 17359, "
    "https://github.com/pytorch/ignite/pull/219; PyTorch's documentation: for debugging only",
    before="torch.autograd.set_detect_anomaly(True)",
    after="torch.autograd.set_detect_anomaly(args.debug)",
    look=look,
    words=("detect_anomaly",),
    gain=Gain(Time.HOST, 3.0),
)
