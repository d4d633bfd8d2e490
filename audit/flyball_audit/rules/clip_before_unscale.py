"""`clip-before-unscale`: gradients are clipped while they still carry the loss scale, to nearly nothing."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flyball_audit.finding import Action, Change, Edit, Severity
from flyball_audit.flow.library import CLIPPING
from flyball_audit.flow.values import Tag
from flyball_audit.module import Function, last_name
from flyball_audit.project import Definition, Module, Project
from flyball_audit.rule import CERTAIN, SUSPECTED, Match, Rule

_UNSCALING = ("unscale_", ".unscale")
"""Without these texts nothing among the files unscales."""


class Clip(NamedTuple):
    """A call that clips, or leads to one, in the function that has the scaler step."""

    site: ast.Call
    """The call in that function."""
    module: Module
    node: ast.Call
    """The clipping itself, or the call of what clips that an attribute holds."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Clipping between a scaled backward pass and the scaler's step, with no `unscale_` before it."""
    if not project.speaks_of(module, "clip_grad"):
        return
    for body in (*module.functions, module.tree):
        if "step" in module.called_in(body):
            calls = sorted(module.calls_of(body), key=lambda each: (each.lineno, each.col_offset))
            for clip in (clip for each in calls for clip in _clips(project, module, each)):
                yield from _of_clip(project, module, calls, clip)


def _of_clip(project: Project, module: Module, calls: list[ast.Call], clip: Clip) -> Iterator[Match]:
    after = (each for each in calls if each.lineno > clip.site.lineno)
    step = next((each for each in after if _is_scalers(project, module, each, "step")), None)
    if step is None or _is_unscaled(project, module, calls, clip.site):
        return
    before = (each for each in calls if each.lineno <= clip.site.lineno)
    seen = any(_scales(project, module, each) for each in before)
    if seen or not project.speaks_of(module, *_UNSCALING):
        yield _match(module, clip, step, seen=seen)


def _clips(project: Project, module: Module, call: ast.Call) -> Iterator[Clip]:
    """The clipping that a call is, or that it leads to: of a method, or of a function that an attribute holds."""
    if CLIPPING.search(module.qualified(call.func) or "") or _holds_clipping(project, module, call.func):
        yield Clip(call, module, call)
    else:
        for there, node in project.flow.callees(module, call) if not call.args else ():
            steps = not isinstance(node, Function) or "step" in there.called_in(node)
            for each in there.calls_of(node) if not steps else ():
                if CLIPPING.search(there.qualified(each.func) or ""):
                    yield Clip(call, there, each)


def _holds_clipping(project: Project, module: Module, called: ast.expr) -> bool:
    """Whether what is called was made of a clipping function: `partial(clip_grad_norm_, …)`, a lambda that calls it."""
    value = project.flow.value(module, called)
    made = value.made_at[1] if value.made_at is not None and value.made_by == "functools.partial" else None
    if made is not None and made.args and value.made_at is not None:
        return bool(CLIPPING.search(value.made_at[0].qualified(made.args[0]) or ""))
    choices = (*value.choices, *([value.definition] if value.definition is not None else []))
    return any(_is_clipping(each) for each in choices) or _is_given_clipping(project, module, called)


def _is_clipping(definition: Definition) -> bool:
    """Whether a lambda clips."""
    module, node = definition
    calls = (each for each in ast.walk(node) if isinstance(each, ast.Call)) if isinstance(node, ast.Lambda) else ()
    return any(CLIPPING.search(module.qualified(each.func) or "") for each in calls)


def _is_given_clipping(project: Project, module: Module, called: ast.expr) -> bool:
    """Whether an attribute, or a variable, is given one of several things of which one clips."""
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    if "clip" not in name:
        return False
    for each in module.all(ast.Assign):
        named = any(
            isinstance(t, ast.Attribute | ast.Name) and ast.unparse(t) == ast.unparse(called) for t in each.targets
        )
        if named and any(_gives_clipping(project, module, part) for part in ast.walk(each.value)):
            return True
    return False


def _gives_clipping(project: Project, module: Module, node: ast.AST) -> bool:
    """Whether an expression is made of a clipping function, or calls a function that gives one back."""
    if isinstance(node, ast.Attribute | ast.Name):
        return bool(CLIPPING.search(module.qualified(node) or ""))
    for there, called in project.flow.callees(module, node) if isinstance(node, ast.Call) else ():
        run = {each.func for each in there.all(ast.Call)}
        named = (each for each in ast.walk(called) if isinstance(each, ast.Attribute | ast.Name) and each not in run)
        if any(CLIPPING.search(there.qualified(each) or "") for each in named):
            return True
    return False


def _is_scalers(project: Project, module: Module, call: ast.Call, name: str) -> bool:
    """A method of a gradient scaler."""
    if last_name(call) != name or not isinstance(call.func, ast.Attribute):
        return False
    holder = call.func.value
    return project.flow.value(module, holder).has(Tag.SCALER) or ast.unparse(holder).lower().endswith("scaler")


def _scales(project: Project, module: Module, call: ast.Call) -> bool:
    """Whether a call scales a loss, or leads to a function that does."""
    if _is_scalers(project, module, call, "scale"):
        return True
    inside = ((there, node) for there, node in project.flow.callees(module, call) if isinstance(node, Function))
    return any(_is_scalers(project, there, each, "scale") for there, node in inside for each in there.calls_of(node))


def _is_unscaled(project: Project, module: Module, calls: list[ast.Call], clip: ast.Call) -> bool:
    """Whether `unscale_` comes first, here or in a function that is called before."""
    for each in (each for each in calls if each.lineno <= clip.lineno):
        if each is not clip and last_name(each) in {"unscale_", "unscale_gradients", "unscale"}:
            return True
        for there, node in project.flow.callees(module, each):
            inside = there.calls_of(node) if isinstance(node, Function) else ()
            if any(last_name(inner).startswith("unscale") for inner in inside):
                return True
    return False


def _match(module: Module, clip: Clip, step: ast.Call, *, seen: bool) -> Match:
    scaler = ast.unparse(step.func.value) if isinstance(step.func, ast.Attribute) else "scaler"
    optimizer = ast.unparse(step.args[0]) if step.args else "optimizer"
    line = f"{scaler}.unscale_({optimizer})"
    by_norm = last_name(clip.node) == "clip_grads_with_norm_"  # of a norm that was taken above
    change = Change(Action.BEFORE, module.span(module.statement(clip.site)), line)
    return Match(
        clip.node,
        f"`{clip.module.quote(clip.node)}` clips scaled gradients",
        (
            f"`{scaler}.scale(loss).backward()` leaves gradients multiplied by the loss scale (65,536 at the start), "
            "and nothing unscales them before the clipping"
        )
        if seen
        else f"`{module.quote(step)}` follows, so the backward pass was scaled, and nothing unscales the gradients",
        CERTAIN if seen else SUSPECTED,
        None if seen else Severity.NOTE,
        change=f"Put `{line}` before the {'norm is computed' if by_norm else 'clipping'}.",
        module=clip.module,
        edit=Edit((change,)) if clip.node is clip.site and not by_norm else None,
    )


RULE = Rule(
    id="clip-before-unscale",
    severity=Severity.WARNING,
    summary="Gradients are clipped before they are unscaled.",
    cause="The limit is compared with gradients that are still multiplied by the loss scale (65,536 at the start). "
    "Nearly all of them exceed it, and after the division almost nothing is left.",
    change="Call `scaler.unscale_(optimizer)` before the clipping.",
    expected="no time by itself; the training converges as intended, in fewer steps",
    source="PyTorch's “Automatic Mixed Precision examples”, “Gradient clipping”: "
    "https://docs.pytorch.org/docs/stable/notes/amp_examples.html",
    before="scaler.scale(loss).backward()\nclip_grad_norm_(model.parameters(), 1.0)\nscaler.step(optimizer)",
    after="scaler.scale(loss).backward()\nscaler.unscale_(optimizer)\nclip_grad_norm_(model.parameters(), "
    "1.0)\nscaler.step(optimizer)",
    look=look,
    words=("step",),
)
