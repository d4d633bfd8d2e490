"""The use of one model: its facts, its gradients, and the ways to compute its batches."""

from __future__ import annotations

from flyball.micro_batches.computation import OverlappedSlices, PlainSlices, ReducedSlices
from flyball.micro_batches.gradients import Gradients
from flyball.micro_batches.models import DDP, PLAIN, SHARDED, UNKNOWN, ModelFacts, look_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flyball.micro_batches.computation import Computation

OTHER_RANKS = {
    SHARDED: "the parameters are spread over ranks, so other ranks compute with this one",
    "": "it is not known whether other ranks compute with this one",
}


class ModelUse:
    """One model as `accumulate` uses it. Like an optimizer, it keeps the parameters alive."""

    __slots__ = (
        "_overlapped",
        "_plain",
        "_reduced",
        "_trial",
        "facts",
        "gradients",
        "is_open",
        "is_reducible",
        "model",
    )

    def __init__(self, model: Any, world_size: int) -> None:
        self.model = model
        self.facts = facts = _facts(model, world_size)
        self.gradients = Gradients(facts.parameters)
        self.is_reducible = facts.reducible and not facts.statistics_change
        self.is_open = False  # more batches of an optimizer step follow
        self._plain = PlainSlices(_objection(facts.kind), _no_sync(model, facts.kind))
        self._overlapped = self._reduced = self._trial = None
        if facts.kind == DDP:
            self._overlapped = OverlappedSlices(facts)
            self._reduced, self._trial = ReducedSlices(facts, reads=False), ReducedSlices(facts, reads=True)

    def computation(self, is_explicit: bool, is_trial: bool) -> Computation:
        """Return the way to compute the next batch."""
        if self._overlapped is None or self._trial is None or self._reduced is None:
            return self._plain
        if not (is_explicit and self.is_reducible):
            return self._overlapped
        return self._trial if is_trial else self._reduced

    def reason(self) -> str:
        """Return why the micro-batch must not change between steps, or an empty text."""
        return self.facts.reason() or ("mid_accumulation" if self.gradients.repeats else "")

    @property
    def exchanges(self) -> bool:
        """Return False while the script itself has entered `no_sync`: more batches of this step follow."""
        return self.facts.ddp is None or bool(self.facts.ddp.require_backward_grad_sync)


def _facts(model: Any, world_size: int) -> ModelFacts:
    try:
        return look_at(model, world_size)
    except Exception:  # noqa: BLE001  a model with attributes that raise
        return ModelFacts(UNKNOWN)


def _objection(kind: str) -> str:
    return "" if kind == PLAIN else OTHER_RANKS.get(kind, OTHER_RANKS[""])


def _no_sync(model: Any, kind: str) -> Callable[[], Any] | None:
    """Return the method that leaves out the exchange of gradients.

    That of FSDP would keep whole gradients on each rank, and DeepSpeed refuses it: their slices exchange each time.
    """
    found = getattr(model, "no_sync", None)
    return found if kind != SHARDED and callable(found) else None
