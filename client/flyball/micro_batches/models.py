"""Facts about a model that decide whether its micro-batch may change, and whether a failed batch may be repeated."""

from __future__ import annotations

from flyball.training.loaded_modules import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BATCH_NORM = "batch_norm"
COMPILED = "compiled"
FSDP = "fsdp"
UNKNOWN_MODEL = "unknown_model"
UNSUPPORTED_DDP = "ddp_options"

PLAIN = "plain"
DDP = "ddp"
SHARDED = "sharded"
UNKNOWN = "unknown"
"""How the gradients of the ranks come together: one rank; DistributedDataParallel; FSDP, DeepSpeed; not known."""


class ModelFacts:
    """The facts about one model, which is looked at once."""

    __slots__ = ("compiled", "ddp", "is_seen", "kind", "norms", "parameters", "reducible", "unsupported")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.ddp: Any = None  # the DistributedDataParallel itself
        self.is_seen = True  # its modules could be looked at
        self.compiled = False
        self.norms: list[Any] = []  # modules that compute with the statistics of a slice
        self.parameters: list[Any] = []  # those with gradients
        self.unsupported = ""  # the option of DistributedDataParallel with which slices cannot be repeated
        self.reducible = False  # its gradients can be reduced explicitly

    @property
    def statistics_change(self) -> bool:
        """Return True while a module computes with the statistics of a slice."""
        return any(module.training for module in self.norms)

    def reason(self) -> str:
        """Return why the micro-batch must not change between steps, or an empty text."""
        if self.kind == SHARDED:
            return FSDP
        if self.statistics_change:
            return BATCH_NORM
        if self.compiled:
            return COMPILED
        if self.unsupported:
            return UNSUPPORTED_DDP
        return UNKNOWN_MODEL if self.kind == UNKNOWN or not self.is_seen else ""


def look_at(model: Any, world_size: int) -> ModelFacts:
    """Return the facts of a model. A script with PyTorch that passes none may use modules that must be checked."""
    torch = loaded("torch")
    if model is None or torch is None:
        facts = ModelFacts(PLAIN if world_size == 1 else UNKNOWN)
        facts.is_seen = torch is None
        return facts
    bare = getattr(model, "_orig_mod", model)
    facts = ModelFacts(_kind(bare, world_size))
    modules = list(bare.modules()) if hasattr(bare, "modules") else []
    facts.compiled = any(_is_compiled(each) for each in (model, *modules))
    facts.norms = [each for each in modules if _is_batch_norm(each)]
    if facts.kind == DDP:
        _look_at_ddp(facts, bare, compiled_outside=bare is not model)
    elif hasattr(bare, "parameters"):
        facts.parameters = [each for each in bare.parameters() if each.requires_grad]
    return facts


def reason_against(model: Any, world_size: int = 1) -> str:
    """Return why the micro-batch of a model must not change between steps, or an empty text."""
    return look_at(model, world_size).reason()


def _kind(model: Any, world_size: int) -> str:
    modules = list(model.modules()) if hasattr(model, "modules") else [model]
    if any(_is_sharded(each) for each in (model, *modules)):
        return SHARDED
    parallel = getattr(loaded("torch.nn.parallel"), "DistributedDataParallel", None)
    if parallel is not None and isinstance(model, parallel):
        return DDP
    return PLAIN if world_size == 1 else UNKNOWN


def _is_sharded(module: Any) -> bool:
    """Return True if parameters of a module are spread over ranks, so that its forward pass is collective."""
    for name, kind in (
        ("torch.distributed.fsdp", "FullyShardedDataParallel"),
        ("torch.distributed.fsdp", "FSDPModule"),
        ("deepspeed", "DeepSpeedEngine"),
    ):
        found = getattr(loaded(name), kind, None)
        if isinstance(found, type) and isinstance(module, found):
            return True
    own = getattr(module, "_parameters", None) or {}
    return any(hasattr(each, "device_mesh") for each in own.values() if each is not None)


def _is_compiled(module: Any) -> bool:
    """Return True for what torch.compile returns, and for a module that was compiled in place."""
    return hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None


def _is_batch_norm(module: Any) -> bool:
    found = getattr(loaded("torch.nn.modules.batchnorm"), "_BatchNorm", None)
    if found is not None and isinstance(module, found):
        return True
    return "BatchNorm" in type(module).__name__


def _look_at_ddp(facts: ModelFacts, ddp: Any, compiled_outside: bool) -> None:
    facts.ddp = ddp
    ignored = getattr(ddp, "parameters_to_ignore", ())
    named = list(ddp.module.named_parameters())
    facts.parameters = [each for name, each in named if each.requires_grad and name not in ignored]
    is_compiled = compiled_outside or getattr(ddp, "_compiled_call_impl", None) is not None
    facts.unsupported = "torch.compile around it" if is_compiled else _unsupported(ddp)
    sparse = any(getattr(each, "sparse", False) is True for each in ddp.module.modules())
    hooked = bool(getattr(ddp, "_comm_hooks", ())) or _has_builtin_hook(ddp)
    facts.reducible = not (facts.unsupported or sparse or hooked)


def _unsupported(ddp: Any) -> str:
    """Return the option with which a rank that repeats slices would exchange other messages than its peers."""
    for name in ("static_graph", "mixed_precision", "_use_python_reducer", "_delay_all_reduce_all_params"):
        if getattr(ddp, name, None):
            return name.lstrip("_")
    if getattr(getattr(ddp, "_join_config", None), "enable", False):
        return "join"
    return "buffer hook" if hasattr(ddp, "buffer_hook") else ""


def _has_builtin_hook(ddp: Any) -> bool:
    """Return True if gradients are compressed by a hook in C++, which the list of hooks does not have."""
    try:
        return bool(ddp._get_ddp_logging_data().get("comm_hook"))
    except Exception:  # noqa: BLE001  another version of torch
        return False
