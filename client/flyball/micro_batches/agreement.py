"""Lets all ranks begin alike: with the smallest size that one of them asks for, and one way to reduce gradients."""

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


class Agreement:
    """Holds the size with which a rank begins, and whether it can and wants to reduce gradients explicitly."""

    __slots__ = ("is_explicit", "is_reducible", "size")

    def __init__(self, size: int, is_reducible: bool, is_explicit: bool) -> None:
        self.size = size
        self.is_reducible = is_reducible
        self.is_explicit = is_explicit


def agreed(mine: Agreement, facts: ModelFacts, has_memory: bool) -> Agreement:
    """Return the smallest size of all ranks, whether all can reduce gradients explicitly, and whether one wants to.

    With a model that is not known, other ranks may never come here: nothing is exchanged unless a launcher restarts
    the run.
    """
    distributed, torch = loaded("torch.distributed"), loaded("torch")
    if facts.kind == PLAIN or distributed is None or torch is None:
        return mine
    if not distributed.is_initialized() or (facts.kind == UNKNOWN and not has_memory):
        return mine
    group = facts.ddp.process_group if facts.kind == DDP else None
    numbers = [mine.size, int(mine.is_reducible), int(not mine.is_explicit)]
    found = torch.tensor(numbers, device=_device(facts, group, distributed, torch))
    distributed.all_reduce(found, op=distributed.ReduceOp.MIN, group=group)
    smallest, all_reducible, nobody_wants = found.tolist()
    return Agreement(int(smallest), bool(all_reducible), not nobody_wants)


def _device(facts: ModelFacts, group: Any, distributed: Any, torch: Any) -> Any:
    """Return a device whose tensors the backend can exchange."""
    if facts.parameters:
        return facts.parameters[0].device
    return torch.device("cuda", torch.cuda.current_device()) if distributed.get_backend(group) == "nccl" else "cpu"
