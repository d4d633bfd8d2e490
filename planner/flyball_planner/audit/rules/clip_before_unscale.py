"""`clip-before-unscale`: gradients are clipped while they still carry the loss scale, to nearly nothing."""

import ast
from collections.abc import Iterator

from flyball_planner.audit.finding import Action, Change, Edit, Severity
from flyball_planner.audit.flow.library import CLIPPING
from flyball_planner.audit.flow.values import Tag
from flyball_planner.audit.module import Function, last_name
from flyball_planner.audit.project import Module, Project
from flyball_planner.audit.rule import CERTAIN, Match, Rule


def look(module: Module, project: Project) -> Iterator[Match]:
    """Clipping between a scaled backward pass and the scaler's step, in one function, with no `unscale_` before it."""
    bodies = (*module.functions, module.tree)
    for body in bodies:
        calls = sorted(module.calls_of(body), key=lambda each: (each.lineno, each.col_offset))
        clips = [each for each in calls if CLIPPING.search(module.qualified(each.func) or "")]
        for clip in clips:
            step = _scaler_step_after(project, module, calls, clip)
            scaled = any(_is_scalers(project, module, each, "scale") and each.lineno <= clip.lineno for each in calls)
            if step is not None and scaled and not _is_unscaled(project, module, calls, clip):
                yield _match(module, clip, step)


def _scaler_step_after(project: Project, module: Module, calls: list[ast.Call], clip: ast.Call) -> ast.Call | None:
    after = (each for each in calls if each.lineno > clip.lineno)
    return next((each for each in after if _is_scalers(project, module, each, "step")), None)


def _is_scalers(project: Project, module: Module, call: ast.Call, name: str) -> bool:
    """A method of a gradient scaler."""
    if last_name(call) != name or not isinstance(call.func, ast.Attribute):
        return False
    holder = call.func.value
    return project.flow.value(module, holder).has(Tag.SCALER) or ast.unparse(holder).lower().endswith("scaler")


def _is_unscaled(project: Project, module: Module, calls: list[ast.Call], clip: ast.Call) -> bool:
    """Whether `unscale_` comes first, here or in a function that is called before."""
    for each in (each for each in calls if each.lineno <= clip.lineno and each is not clip):
        if last_name(each) in {"unscale_", "unscale_gradients", "unscale"}:
            return True
        for there, node in project.flow.callees(module, each):
            inside = there.calls_of(node) if isinstance(node, Function) else ()
            if any(last_name(inner).startswith("unscale") for inner in inside):
                return True
    return False


def _match(module: Module, clip: ast.Call, step: ast.Call) -> Match:
    scaler = ast.unparse(step.func.value) if isinstance(step.func, ast.Attribute) else "scaler"
    optimizer = ast.unparse(step.args[0]) if step.args else "optimizer"
    line = f"{scaler}.unscale_({optimizer})"
    change = Change(Action.BEFORE, module.span(module.statement(clip)), line)
    return Match(
        clip,
        f"`{module.quote(clip)}` clips scaled gradients",
        f"`{scaler}.scale(loss).backward()` left them multiplied by the loss scale (65,536 to begin with), and "
        f"nothing unscales them before",
        CERTAIN,
        change=f"Put `{line}` before the clipping.",
        edit=Edit((change,)),
    )


RULE = Rule(
    id="clip-before-unscale",
    severity=Severity.WARNING,
    summary="Gradients are clipped before they are unscaled.",
    cause="The limit is compared with gradients that are multiplied by the scale, 65,536 at the start: nearly all are "
    "cut down to it, and what is left after the division is next to nothing.",
    change="Call `scaler.unscale_(optimizer)` before the clipping.",
    expected="no time by itself; the training learns as it was meant to, in fewer steps",
    source="PyTorch's “Automatic Mixed Precision examples”, “Gradient clipping”: "
    "https://docs.pytorch.org/docs/stable/notes/amp_examples.html",
    before="scaler.scale(loss).backward()\nclip_grad_norm_(model.parameters(), 1.0)\nscaler.step(optimizer)",
    after="scaler.scale(loss).backward()\nscaler.unscale_(optimizer)\nclip_grad_norm_(model.parameters(), "
    "1.0)\nscaler.step(optimizer)",
    look=look,
    words=("clip_grad",),
)
