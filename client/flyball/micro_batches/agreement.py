"""Lets all ranks begin with the same size: the smallest that one of them asks for."""

from __future__ import annotations

from flyball.micro_batches.models import DDP, PLAIN, UNKNOWN
from flyball.training.loaded_modules import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flyball.micro_batches.models import ModelFacts


def number_of_ranks(fallback: int) -> int:
    """Return the number of ranks by torch.distributed, or that of the run."""
    distributed = loaded("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_world_size())
    return fallback


def agreed(size: int, is_reducible: bool, facts: ModelFacts, has_memory: bool) -> tuple[int, bool]:
    """Return the smallest size of all ranks, and whether all of them can reduce gradients explicitly.

    With a model that is not known, other ranks may never come here: nothing is exchanged unless a launcher restarts
    the run.
    """
    distributed, torch = loaded("torch.distributed"), loaded("torch")
    if facts.kind == PLAIN or distributed is None or torch is None:
        return size, is_reducible
    if not distributed.is_initialized() or (facts.kind == UNKNOWN and not has_memory):
        return size, is_reducible
    group = facts.ddp.process_group if facts.kind == DDP else None
    found = torch.tensor([size, int(is_reducible)], device=_device(facts, group, distributed, torch))
    distributed.all_reduce(found, op=distributed.ReduceOp.MIN, group=group)
    smallest, all_reducible = found.tolist()
    return int(smallest), bool(all_reducible)


def _device(facts: ModelFacts, group: Any, distributed: Any, torch: Any) -> Any:
    """Return a device whose tensors the backend can exchange."""
    if facts.parameters:
        return facts.parameters[0].device
    return torch.device("cuda", torch.cuda.current_device()) if distributed.get_backend(group) == "nccl" else "cpu"
