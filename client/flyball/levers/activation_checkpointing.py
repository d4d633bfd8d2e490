"""Activation checkpointing of a model of transformers, or of a model with the same methods, switched between two steps.

Activations are computed a second time in the backward pass instead of being kept: the gradients are the same, memory is
less, and a step takes about a third longer (one more forward pass; Chen et al. 2016, arXiv 1604.06174).
"""

from __future__ import annotations

import warnings

from flyball.adjustments.value import AdjustableValue
from flyball.micro_batches.models import COMPILED, FSDP, SHARDED, look_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from flyball.training.run import Run

NAME = "activation_checkpointing"
_WORDS = ("activation", "gradient")  # transformers renamed the methods in 5.x and keeps the old ones until 6
_NAMED = ("every_n_layers", "offload")  # of transformers, beside what torch.utils.checkpoint gets
_FACTS = {"inverse": "the other value", "random_numbers": "unchanged"}


def declare(run: Run, model: Any, *, wrapped: Any = None, options: Any = None) -> AdjustableValue | None:
    """Declare the switch of a model. Return None if the model has none.

    `wrapped` is the model as it is trained, for example inside of DistributedDataParallel. `options` are passed on to
    the model's method, as Trainer's `activation_checkpointing_kwargs`.
    """
    switch = CheckpointingSwitch.of(model, wrapped, options)
    if switch is None:
        return None
    value = AdjustableValue(
        NAME,
        switch.active,
        choices=(False, True),
        when="step",
        safety=2,
        lever=NAME,
        facts=_FACTS,
        apply=switch.apply,
        check=switch.check,
    )
    value.blocked = switch.check(True)
    run.adjustments.add(value)
    return value


class CheckpointingSwitch:
    """The methods of one model that switch activation checkpointing."""

    def __init__(self, model: Any, wrapped: Any, options: Mapping[str, Any] | None, word: str) -> None:
        self._model = model
        self._wrapped = model if wrapped is None else wrapped
        kwargs = dict(options or {})
        self._more = {name: kwargs.pop(name) for name in _NAMED if name in kwargs}
        self._kwargs = kwargs or {"use_reentrant": False}
        self._word = word

    @classmethod
    def of(
        cls, model: Any, wrapped: Any = None, options: Mapping[str, Any] | None = None
    ) -> CheckpointingSwitch | None:
        """Return the switch of a model, or None if it lacks the methods or does not support it."""
        if getattr(model, "supports_gradient_checkpointing", True) is False:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the older names are deprecated
            for word in _WORDS:
                names = (f"{word}_checkpointing_enable", f"{word}_checkpointing_disable", f"is_{word}_checkpointing")
                if all(hasattr(model, name) for name in names):
                    return cls(model, wrapped, options, word)
        return None

    @property
    def active(self) -> bool:
        """Return True while activations are computed again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(self._model, f"is_{self._word}_checkpointing")
            return bool(found() if callable(found) else found)

    def check(self, _: object) -> str:
        """Return why it cannot be switched, or nothing."""
        if self._kwargs.get("use_reentrant", True) and getattr(self._wrapped, "find_unused_parameters", False) is True:
            return "reentrant"  # DistributedDataParallel would see parameters twice
        return reason_against(self._wrapped) or reason_against(self._model)

    def apply(self, to: object) -> bool:
        """Switch it and return what the model reports afterwards."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the older names are deprecated
            if to:
                named = {f"{self._word}_checkpointing_kwargs": self._kwargs}
                getattr(self._model, f"{self._word}_checkpointing_enable")(**named, **self._more)
            else:
                getattr(self._model, f"{self._word}_checkpointing_disable")()
        return self.active


def reason_against(model: Any) -> str:
    """Return why a model cannot be switched while it trains, or nothing.

    A compiled model would be compiled again, or keep its old graph. DistributedDataParallel with a static graph has
    fixed the order in which gradients arrive. In a sharded model, parameters are gathered a second time in the backward
    pass: nobody has tested it here.
    """
    facts = look_at(model, world_size=1)
    if facts.compiled:
        return COMPILED
    if getattr(model, "static_graph", False) is True:
        return "static_graph"
    return FSDP if facts.kind == SHARDED else ""
