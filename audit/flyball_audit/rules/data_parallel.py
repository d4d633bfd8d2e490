"""`data-parallel`: nn.DataParallel copies the model to every GPU in each step, from one process."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.branches import after
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.given import argument
from flyball_audit.module import Module, last_name
from flyball_audit.names import code_of
from flyball_audit.project import Project
from flyball_audit.rule import CERTAIN, LIKELY, SUSPECTED, Match, Rule

_WRAPPERS = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.data_parallel"})
_RANK = re.compile(r"rank")
_OFFERS = re.compile(r"DataParallel|^DP[A-Z]|DP$")
_BETTER = "DistributedDataParallel"


def look(module: Module, project: Project) -> Iterator[Match]:
    """Calls of the wrapper; beside DistributedDataParallel it is a way out for those who start one process."""
    calls = [call for call in module.all(ast.Call) if _wraps(module, project, call)]
    users = {module, *(set(project.beside(module)) - project.imports_of(module))} if calls else set()
    falls_back = any(each.says_any((_BETTER,)) for each in users)
    for call in calls:
        devices = argument(call, "device_ids", 1)
        if _is_one_device(devices) and _RANK.search(code_of(devices)):
            yield _alone(module, call)
        elif not (_is_one_device(devices) or _is_spared(module, call)):
            full = module.qualified(call.func)
            seen = full in _WRAPPERS or project.find(full) is not None
            yield _match(module, call, falls_back=falls_back, seen=seen)


def _is_spared(module: Module, call: ast.Call) -> bool:
    return _is_named_for_it(module, call) or _is_taken_out(module, call)


def _wraps(module: Module, project: Project, call: ast.Call) -> bool:
    """Whether it makes the wrapper, or a kind of it: `class Parallel(nn.DataParallel)`, to reach attributes."""
    full = module.qualified(call.func)
    if full in _WRAPPERS:
        return True
    own = project.find(full)
    if own is not None:
        return isinstance(own.node, ast.ClassDef) and not project.flow.bases(own).isdisjoint(_WRAPPERS)
    return last_name(call).endswith("DataParallel") and _is_unknown_kind(full or "")


def _is_unknown_kind(full: str) -> bool:
    """Whether a file that is not at hand may make it a kind of the wrapper, as its name says."""
    return bool(full) and not full.startswith("torch.") and _OTHER_KINDS.search(full) is None


_OTHER_KINDS = re.compile(
    r"(Distributed|Sharded|Fully|Tensor|Hybrid|Zero|DDP)\w*DataParallel$|(apex|megatron|fairscale)"
)


def _is_one_device(devices: ast.expr | None) -> bool:
    return isinstance(devices, ast.List | ast.Tuple) and len(devices.elts) == 1


def _is_named_for_it(module: Module, call: ast.Call) -> bool:
    """Whether the class around says what it is for: a library's offer, which who trains takes or leaves."""
    return any(isinstance(each, ast.ClassDef) and _OFFERS.search(each.name) for each in module.ancestors(call))


def _is_taken_out(module: Module, call: ast.Call) -> bool:
    """Whether the bare model is taken out of the wrapper at once: `DataParallel(model).module` runs on one GPU."""
    around = module.parent(call)
    if isinstance(around, ast.Assign) and len(around.targets) == 1:
        following = after(module.parent(around), around)[:1]
        return any(isinstance(each, ast.Assign) and _is_module_of(each.value, around.targets[0]) for each in following)
    return isinstance(around, ast.Attribute) and around.attr == "module"


def _is_module_of(taken: ast.expr, wrapper: ast.expr) -> bool:
    return isinstance(taken, ast.Attribute) and taken.attr == "module" and code_of(taken.value) == code_of(wrapper)


def _alone(module: Module, call: ast.Call) -> Match:
    return Match(
        call,
        f"`{module.quote(call)}` wraps the model of a single process",
        "each process uses its own device (by its rank), and nothing averages gradients between the processes",
        LIKELY,
        change="Wrap it with `DistributedDataParallel`, which averages the gradients.",
    )


def _match(module: Module, call: ast.Call, *, falls_back: bool, seen: bool) -> Match:
    beside = "; the code also supports DistributedDataParallel: start it that way"
    return Match(
        call,
        f"`{module.quote(call.func)}` drives all GPUs from one process",
        "each step copies the model to every GPU and gathers the outputs on the first "
        f"one{beside if falls_back else ''}",
        CERTAIN if seen and not falls_back else SUSPECTED,
        Severity.WARNING if seen and not falls_back else Severity.NOTE,
    )


RULE = Rule(
    id="data-parallel",
    severity=Severity.WARNING,
    summary="nn.DataParallel is used for several GPUs.",
    cause="One Python process launches all kernels. Each step copies the model and the batch to all GPUs, copies "
    "the outputs back, and sums the gradients on the first GPU, which becomes the bottleneck and runs out of "
    "memory first.",
    change="Use one process per GPU: `torchrun`, `DistributedDataParallel` and a `DistributedSampler`.",
    expected="up to 1.09× on two GPUs with NVLink (110.6 to 101.9 s), more with more GPUs or short steps; without "
    "NVLink it was slower (131.4 s), so measure first",
    source="Hugging Face's “Efficient Training on Multiple GPUs”, GPT-2 on two Titan RTX: "
    "https://huggingface.co/transformers/perf_train_gpu_many",
    before="model = nn.DataParallel(model).cuda()",
    after="model = DistributedDataParallel(model.to(local_rank), device_ids=[local_rank])",
    look=look,
    words=("DataParallel", "data_parallel"),
    gain=Gain(Time.COMMUNICATION, 1.09),
)
