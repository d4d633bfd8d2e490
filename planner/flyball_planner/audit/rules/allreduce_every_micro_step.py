"""`allreduce-every-micro-step`: gradients are exchanged after each backward pass, though few are followed by a step."""

import ast
import re
from collections.abc import Iterator

from flyball_planner.audit.definition import Definition
from flyball_planner.audit.effects import Effect
from flyball_planner.audit.finding import Gain, Severity, Time
from flyball_planner.audit.flow.values import Tag
from flyball_planner.audit.guards import Rarity
from flyball_planner.audit.loops import Turns
from flyball_planner.audit.mentions import mentions
from flyball_planner.audit.module import Function, last_name
from flyball_planner.audit.project import Module, Project
from flyball_planner.audit.regions import Region
from flyball_planner.audit.rule import LIKELY, SUSPECTED, Match, Rule

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
        accumulates = _steps_seldom(project, turns)
        for region, call in (
            _backward_passes(project, turns) if distributed or "accelerat" in module.source.text else ()
        ):
            if accumulates or project.loops.is_micro(region, call):
                exchanges = wrapped or _is_accelerated(project, region, call)
                if exchanges or (distributed and _is_of_loss(project, region, call)):
                    yield _match(turns, region, call, seen=exchanges)


def _backward_passes(project: Project, turns: Turns) -> Iterator[tuple[Region, ast.Call]]:
    for region in project.loops.regions(turns):
        for call in region.all(ast.Call):
            if Effect.BACKWARD in project.loops.effects.direct(region.module, call):
                yield region, call


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
    for caller, call in project.flow.callers(function.name, module):
        if Definition(module, function) in project.flow.callees(caller, call):
            yield caller, caller.function_of(call) or caller.tree


def _wraps(module: Module, scope: ast.AST) -> bool:
    scopes = [scope]
    if isinstance(scope, ast.ClassDef):
        scopes = [each for each in scope.body if isinstance(each, Function)]
    calls = (call for each in scopes for call in module.calls_of(each))
    return any(module.qualified(call.func) in _WRAPPERS or _SMART.search(last_name(call)) for call in calls)


def _match(turns: Turns, region: Region, call: ast.Call, *, seen: bool) -> Match:
    doubt = "" if seen else "; that somebody wraps the model for several processes is supposed"
    return Match(
        call,
        f"`{region.module.quote(call)}` exchanges gradients in each micro-step",
        f"the loop at {turns.module.path}:{turns.node.lineno} steps after several of them, and nothing holds the "
        f"exchange back (`no_sync`){doubt}",
        LIKELY if seen else SUSPECTED,
        None if seen else Severity.NOTE,
        module=region.module,
    )


RULE = Rule(
    id="allreduce-every-micro-step",
    severity=Severity.WARNING,
    summary="Gradients are exchanged in every micro-step of an accumulation.",
    cause="DistributedDataParallel reduces gradients over all processes in each backward pass; of N before a step, N "
    "− 1 are for nothing. Accelerate wraps models so, too.",
    change="Run all but the last backward pass, with its forward pass, within `model.no_sync()`; "
    "with Accelerate, give it `gradient_accumulation_steps=` and put each step within `accelerator.accumulate(model)`.",
    expected="up to 2.2× between two hosts (2.00 to 0.91 s a batch), 1.2× within one (0.50 to 0.41 s)",
    source="Hugging Face Accelerate, “Gradient synchronization”, 4 steps of accumulation on two T4: "
    "https://huggingface.co/docs/accelerate/concept_guides/gradient_synchronization",
    before="for micro, (x, y) in enumerate(batches):\n    (model(x, y) / N).backward()",
    after="for micro, (x, y) in enumerate(batches):\n    with model.no_sync() if micro < N - 1 else nullcontext():\n"
    "        (model(x, y) / N).backward()",
    look=look,
    gain=Gain(Time.COMMUNICATION, 2.2),
)
