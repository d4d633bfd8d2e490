"""The part of a run by which Flyball may change the training: declared values, micro-batches, checkpoints.

Everything behind it is imported at its first call, because most trainings need none of it.
"""

from __future__ import annotations

from _weakref import ref

from flyball.training.introduced_run import IntroducedRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    from flyball.training.introduction import Introduction
    from flyball.training.protocols import Adjustable, Adjustments, MicroBatching

    Kind = TypeVar("Kind", bool, int, float, str)
    Callback = TypeVar("Callback", bound=Callable[[Any], object])


def _room(name: str) -> Any:
    """Import a module of a higher room. An import statement would make the two rooms import each other."""
    from importlib import import_module

    return import_module(f"flyball.{name}")


def _attempt(action: Callable[..., object], *values: object) -> None:
    """Call something that must not reach the training if it fails."""
    try:
        action(*values)
    except Exception:  # noqa: BLE001  a value less can be adjusted
        return


class AdjustableRun(IntroducedRun):
    """Methods of a run for what may be changed while it trains. Without an agent, everything keeps its first value."""

    __slots__ = ("_adjustments", "_declarations")

    def __init__(self, introduction: Introduction) -> None:
        IntroducedRun.__init__(self, introduction)
        self._adjustments: Any = None
        self._declarations: dict[str, Callable[[Any], object]] = {}

    @property
    def adjustments(self) -> Adjustments:
        """Return the declared values, and what Flyball does with them."""
        if self._adjustments is None:
            self._adjustments = _room("adjustments.run_adjustments").RunAdjustments(self)
            for declare in list(self._declarations.values()):
                _attempt(declare, self._adjustments)
        return self._adjustments  # type: ignore[no-any-return]  # its class is in a higher room

    @property
    def is_adjustable(self) -> bool:
        """Return True if values were declared, or the agent allows adjustments."""
        return self._adjustments is not None

    def value(
        self,
        name: str,
        initial: Kind,
        *,
        choices: Iterable[Kind] = (),
        when: str = "step",
        safety: int = 1,
        lever: str = "",
        facts: Mapping[str, str] | None = None,
    ) -> Adjustable[Kind]:
        """Declare a value that Flyball may change to one of the choices. Read its `now` wherever the script uses it.

        `when` is `step`, `epoch` (the script reads it when an epoch begins) or `restart`. `safety` is the class of the
        change: 1 leaves the mathematics as they are, 2 is equivalent, 3 has other numerics. A declaration that is not
        valid is counted in `Run.dropped`, and the value stays as it is.
        """
        return _room("adjustments.declaring").declare(self, name, initial, choices, when, safety, lever, facts)  # type: ignore[no-any-return]  # as above

    def on(
        self,
        name: str,
        *,
        choices: Iterable[Any],
        initial: Any = None,
        safety: int = 2,
        when: str = "step",
        lever: str = "",
    ) -> Callable[[Callback], Callback]:
        """Return a decorator for a function that changes something. It is called with the new value, between steps.

        It returns the value that it observes afterwards, or raises `flyball.Veto` with a reason. `initial` is the
        present value: the first choice if it is not passed.
        """
        return _room("adjustments.declaring").callback(self, name, choices, initial, safety, when, lever)  # type: ignore[no-any-return]  # as above

    def batch(
        self,
        *,
        per_rank: int,
        micro: int | None = None,
        normalised: str = "mean",
        slice: Callable[..., Any] | None = None,  # noqa: A002  the word for it
    ) -> MicroBatching:
        """Return what splits the batch of a step into slices of `micro` samples. Flyball may change that number.

        `normalised` is how the loss is: by `tokens` or `samples` of the whole batch, or the `mean` of each slice.
        """
        return _room("micro_batches.micro_batches").MicroBatches(  # type: ignore[no-any-return]  # as above
            self, per_rank=per_rank, micro=micro, normalised=normalised, slice=slice
        )

    def should_checkpoint(self, every: int = 500) -> bool:
        """Return True if a checkpoint is due after this step. All ranks must ask, and all get the same answer.

        `every` is the number of steps between two checkpoints, until Flyball has a better one.
        """
        return _room("adjustments.declaring").should_checkpoint(self, every)  # type: ignore[no-any-return]  # as above

    def checkpoint(self) -> AbstractContextManager[None]:
        """Return a context manager for a block that writes a checkpoint. Its time is the cost of a checkpoint."""
        return _room("adjustments.declaring").checkpoint(self)  # type: ignore[no-any-return]  # as above

    # For modules of this package.

    def on_adjustments(self, key: str, action: Callable[[Any], object]) -> None:
        """Declare values when they can be of use: at once if the agent allows adjustments, or when it does.

        `action` is called with the adjustments. A later action with the same key replaces an earlier one.
        """
        self._declarations[key] = action
        if self._adjustments is not None:
            _attempt(action, self._adjustments)

    def begin_epoch(self, items: object = None) -> None:
        """Make the changes that wait for an epoch, because these items are about to be iterated."""
        if self._adjustments is not None:
            _attempt(self._adjustments.begin_epoch, items)
        elif hasattr(items, "num_workers"):  # a loader of torch
            _attempt(self._note_loader, items)

    def _note_loader(self, items: object) -> None:
        """Remember the newest loader, without keeping it alive."""
        loader = ref(items)
        self._declarations["loader"] = lambda adjustments: adjustments.declare_loader(loader())

    def checkpoint_wanted(self) -> bool:
        """Return True if somebody asked for a checkpoint after this step. Nothing is due because of a period."""
        if self._adjustments is None:
            return False
        return _room("adjustments.declaring").checkpoint_wanted(self)  # type: ignore[no-any-return]  # as above
