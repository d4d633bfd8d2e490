"""`allreduce-every-micro-step`: gradients are exchanged after each backward pass, though few are followed by a step."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.effects import Effect
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.callees import calls_to
from flyball_audit.flow.values import Tag
from flyball_audit.guards import Rarity
from flyball_audit.loops import Turns
from flyball_audit.mentions import mentions
from flyball_audit.module import Function, last_name
from flyball_audit.names import code_of
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule

_WRAPPERS = frozenset({"torch.nn.parallel.DistributedDataParallel", "apex.parallel.DistributedDataParallel"})
_SMART = re.compile(r"^(\w+_)?(DDP|ddp)(_model)?$")
"""What a function of theirs is called that wraps a model: `smart_DDP(model)`."""

_WRAPPED = re.compile(r"DistributedDataParallel|DDP\(")
_DISTRIBUTED = re.compile(
    r"DistributedDataParallel|\bDDP\(|DistributedSampler|torch\.distributed|import distributed\b|\bmodel\.module\b"
    r"|local_rank|args\.rank|world_size|synchronize_between_processes"
)
"""Words of code that several processes run: whoever calls it may have wrapped the model."""

_OTHER_ENGINES = re.compile(r"deepspeed|fully_shard|FullyShardedDataParallel\(|\bFSDP\(|horovod")
"""What exchanges gradients by rules of its own."""

_HELD_BACK = re.compile(
    r"no_sync\(|\.no_sync\b|['\"]no_sync|no_backward_sync|require_backward_grad_sync|set_requires_gradient_sync|delay_allreduce|\.accumulate\(|sync_gradients"
    r"|(all_?reduce|average|sync|reduce)_grad"
)
_THINNED = frozenset({Rarity.ACCUMULATED, Rarity.PERIODIC})


def look(module: Module, project: Project) -> Iterator[Match]:
    """Backward passes of wrapped models in loops that accumulate."""
    for turns in project.loops.training_of(module):
        if turns.hook_of not in {None, "caller"} or mentions(project, module, _HELD_BACK):
            continue
        wrapped = mentions(project, module, _WRAPPED) and _is_wrapped(project, turns)
        distributed = wrapped or (mentions(project, module, _DISTRIBUTED) and not _makes_model(project, turns))
        asked = distributed or "accelerat" in module.source.text
        passes = [*_backward_passes(project, turns)] if asked else []
        micro = {call for region, call in passes if project.loops.is_micro(region, call)}
        accumulates = not micro and _steps_seldom(project, turns)
        for region, call in passes:
            if accumulates or call in micro:
                exchanges = wrapped or _is_accelerated(project, region, call)
                if exchanges or (distributed and _is_of_loss(project, region, call)):
                    doubt = _doubt(project, region, call, seen=exchanges)
                    yield _match(turns, region, call, doubt)


def _backward_passes(project: Project, turns: Turns) -> Iterator[tuple[Region, ast.Call]]:
    for region in project.loops.regions(turns):
        for call in region.all(ast.Call):
            if Effect.BACKWARD in project.loops.effects.direct(region.module, call) and not _is_engines(call):
                yield region, call


def _is_engines(call: ast.Call) -> bool:
    """Whether DeepSpeed runs the pass: its engine knows itself when gradients are due."""
    return isinstance(call.func, ast.Attribute) and _ENGINES.search(code_of(call.func.value)) is not None


_ENGINES = re.compile(r"(^|[._])(ds|deepspeed)(_|$)|engine$")


def _is_accelerated(project: Project, region: Region, call: ast.Call) -> bool:
    """Whether Accelerate runs the pass: its `prepare` wraps the model whenever there are several processes."""
    if not isinstance(call.func, ast.Attribute) or not call.args:
        return False
    runner = call.func.value
    return "accelerator" in ast.unparse(runner) and project.flow.value(region.module, runner).has(Tag.ACCELERATOR)


def _is_of_loss(project: Project, region: Region, call: ast.Call) -> bool:
    """Whether a loss is differentiated itself, or scaled, by no engine that knows when gradients are due."""
    if mentions(project, region.module, _OTHER_ENGINES) or not isinstance(call.func, ast.Attribute):
        return False
    held = project.flow.value(region.module, call.func.value)
    return not call.args and not held.tags & {Tag.ENGINE, Tag.ACCELERATOR, Tag.MODEL, Tag.OPTIMIZER}


def _makes_model(project: Project, turns: Turns) -> bool:
    """Whether the loop's function gives the model that it runs a value itself: nobody wraps it elsewhere."""
    module, function = turns.module, turns.module.function_of(turns.node)
    run = {each.func.id for each in turns.region.all(ast.Call) if isinstance(each.func, ast.Name)
           and project.flow.value(module, each.func).has(Tag.MODEL)}  # fmt: skip
    given = (
        target for each in module.all(ast.Assign) if module.function_of(each) is function for target in each.targets
    )
    return any(isinstance(each, ast.Name) and each.id in run for each in given)


def _steps_seldom(project: Project, turns: Turns) -> bool:
    """Whether the optimizer steps in some turns alone, and backward runs in each."""
    return any(
        Effect.STEP in project.loops.effects.direct(region.module, call) and region.rarity(call) in _THINNED
        for region in project.loops.regions(turns)
        for call in region.all(ast.Call)
    )


def _is_wrapped(project: Project, turns: Turns) -> bool:
    """Whether the loop's function, its class, a function that it calls, or one that calls it, wraps a model."""
    function = turns.module.function_of(turns.node)
    scope: ast.AST = function or turns.module.tree
    holder = turns.module.class_of(function) if function is not None else None
    if _wraps(turns.module, holder or scope):
        return True
    for call in turns.module.calls_of(scope):
        if any(_wraps(each.module, each.node) for each in project.flow.callees(turns.module, call)):
            return True
    return any(_wraps(module, above) for module, above in _callers(project, turns.module, function))


def _callers(project: Project, module: Module, function: Function | None) -> Iterator[tuple[Module, ast.AST]]:
    """The functions that call one."""
    if function is None:
        return
    for caller, call in calls_to(project.flow, module, function):
        yield caller, caller.function_of(call) or caller.tree


def _wraps(module: Module, scope: ast.AST) -> bool:
    scopes = [scope]
    if isinstance(scope, ast.ClassDef):
        scopes = [each for each in scope.body if isinstance(each, Function)]
    calls = (call for each in scopes for call in module.calls_of(each))
    return any(module.qualified(call.func) in _WRAPPERS or _SMART.search(last_name(call)) for call in calls)


def _doubt(project: Project, region: Region, call: ast.Call, *, seen: bool) -> str | None:
    """What is not certain, in words that end a sentence."""
    if not seen:
        return "it is not certain that a caller wraps the model for several processes"
    held = next((each for each in _contexts(region, call) if _is_unknown(project, *each)), None)
    return (
        None
        if held is None
        else (f"unless `{held[0].quote(held[1])}`, which is not defined in these files, prevents it")
    )


def _contexts(region: Region, call: ast.Call) -> Iterator[tuple[Module, ast.expr]]:
    """The context managers around a backward pass, on the whole way from the loop."""
    for module, place in ((region.module, call), *region.calls):
        for above in module.ancestors(place):
            if isinstance(above, Function):
                break
            if isinstance(above, ast.With | ast.AsyncWith):
                yield from ((module, each.context_expr) for each in above.items)


def _is_unknown(project: Project, module: Module, context: ast.expr) -> bool:
    """Whether nobody here knows what a context does: it is handed over, or another package's."""
    made = context.func if isinstance(context, ast.Call) else context
    if isinstance(context, ast.Call) and project.flow.callees(module, context):
        return False
    name = project.flow.name(module, made) or ""
    return not name.startswith(_KNOWN_CONTEXTS) and _HARMLESS.search(code_of(made)) is None


_KNOWN_CONTEXTS = ("torch.", "builtins.", "contextlib.nullcontext", "contextlib.suppress", "apex.amp")
_HARMLESS = re.compile(
    r"autocast|amp\b|precision|grad\b|anomaly|stream|device|time|profil|record|nvtx|annotat|range|trace|span|scope|lock"
    r"|tqdm|bar\b|progress|open|log|warn|catch|scale_loss",
    re.IGNORECASE,
)
"""In names of contexts that leave gradients where they are."""


def _match(turns: Turns, region: Region, call: ast.Call, doubt: str | None) -> Match:
    return Match(
        call,
        f"`{region.module.quote(call)}` exchanges gradients in each micro-step",
        f"the loop at {turns.module.path}:{turns.node.lineno} calls the optimizer only after several backward "
        f"passes, and no `no_sync` prevents the exchange{'' if doubt is None else f'; {doubt}'}",
        LIKELY if doubt is None else SUSPECTED,
        None if doubt is None else Severity.NOTE,
        module=region.module,
    )


RULE = Rule(
    id="allreduce-every-micro-step",
    severity=Severity.WARNING,
    summary="Gradients are exchanged in every micro-step of gradient accumulation.",
    cause="DistributedDataParallel exchanges gradients between all processes in each backward pass. With N "
    "micro-steps per optimizer step, N − 1 of these exchanges are wasted. Accelerate wraps models in the same way.",
    change="Run all but the last forward and backward pass within `model.no_sync()`. With Accelerate, pass "
    "`gradient_accumulation_steps=` to the Accelerator and run each step within "
    "`accelerator.accumulate(model)`.",
    expected="up to 2.2× between two hosts (2.00 to 0.91 s a batch), 1.2× within one (0.50 to 0.41 s)",
    source="Hugging Face Accelerate, “Gradient synchronization”, 4 accumulation steps on two T4: "
    "https://huggingface.co/docs/accelerate/concept_guides/gradient_synchronization",
    before="for micro, (x, y) in enumerate(batches):\n    (model(x, y) / N).backward()",
    after="for micro, (x, y) in enumerate(batches):\n    with model.no_sync() if micro < N - 1 else nullcontext():\n"
    "        (model(x, y) / N).backward()",
    look=look,
    gain=Gain(Time.COMMUNICATION, 2.2),
)
