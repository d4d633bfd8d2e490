"""Ways to compute the slices of a batch, and when a batch may be repeated after an allocator has failed.

Slices of DistributedDataParallel hold no collective as long as gradients are not exchanged, so a rank can repeat them
without its peers. `OverlappedSlices` exchanges gradients during the last slice, `ReducedSlices` after it.
"""

from __future__ import annotations

from flyball.micro_batches.out_of_memory import BACKWARD, is_inside_collective, part_of_step
from flyball.micro_batches.reduction import reduce_gradients

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from flyball.micro_batches.models import ModelFacts

    Part = Callable[[Any], Any]

    class Computation(Protocol):
        """Computes the slices of one batch."""

        def begin(self, repeated: bool) -> None:
            """Begin the batch, or begin it again after a failure."""

        def compute(self, part: Part, piece: Any, last: bool) -> Any:
            """Compute a slice. Return what the script's function returned."""

        def end(self) -> None:
            """End the slices, also after an error."""

        def exchange(self, has_failed: bool) -> bool | None:
            """Exchange gradients, if the last slice did not. Return whether any rank has failed; None: not known."""

        def objection(self, error: BaseException) -> str:
            """Return why the batch cannot be repeated after an error, or an empty text."""


def sum_of_slices(part: Part, pieces: list[Any], computation: Computation, exchanges: bool) -> Any:
    """Compute the slices. Return the sum of what the script's function returned for them."""
    total: Any = None
    final = len(pieces) - 1
    for index, piece in enumerate(pieces):
        total = _added(total, computation.compute(part, piece, exchanges and index == final))
    return total


def _added(total: Any, value: Any) -> Any:
    """Return the sum of two values, or of the entries of tuples and dicts. Tensors lose their graph."""
    if isinstance(value, tuple):
        return tuple(_added(total[index] if total is not None else None, each) for index, each in enumerate(value))
    if isinstance(value, dict):
        return {name: _added((total or {}).get(name), each) for name, each in value.items()}
    if hasattr(value, "detach"):
        value = value.detach()
    return value if total is None else total if value is None else total + value


class PlainSlices:
    """Slices of one rank, or of a model whose exchanges are not known. `no_sync` is entered for all but the last."""

    __slots__ = ("_no_sync", "_objection")

    def __init__(self, objection: str = "", no_sync: Callable[[], Any] | None = None) -> None:
        self._objection = objection
        self._no_sync = no_sync

    def begin(self, repeated: bool) -> None:
        """Begin the batch."""

    def compute(self, part: Part, piece: Any, last: bool) -> Any:
        """Compute a slice."""
        if last or self._no_sync is None:
            return part(piece)
        with self._no_sync():
            return part(piece)

    def end(self) -> None:
        """End the slices."""

    def exchange(self, has_failed: bool) -> bool | None:  # noqa: ARG002  the signature of computations
        """Return that nothing is known about other ranks."""
        return None

    def objection(self, error: BaseException) -> str:  # noqa: ARG002  the signature of computations
        """Return why the batch cannot be repeated."""
        return self._objection


class OverlappedSlices:
    """Slices of DistributedDataParallel, which exchanges gradients during the last backward pass, as usual.

    The first forward pass may exchange buffers and buckets. A batch that is repeated does not exchange them again.
    """

    __slots__ = ("_armed", "_ddp", "_entered", "_hooks", "_in_last", "_unsupported")

    def __init__(self, facts: ModelFacts) -> None:
        self._ddp = facts.ddp
        self._unsupported = facts.unsupported
        self._hooks: list[Any] = []
        self._reset()

    def begin(self, repeated: bool) -> None:
        """Begin the batch. The hooks stay for this batch alone: the model may be copied or saved."""
        if not repeated:
            self._reset()
        elif self._entered:
            self._ddp.require_forward_param_sync = False
        if self._unsupported:
            return  # nothing is repeated, and a compiled model would be compiled again for its hooks
        self._hooks.append(self._ddp.register_forward_pre_hook(self._enter))
        self._hooks.append(self._ddp.register_forward_hook(self._leave))

    def compute(self, part: Part, piece: Any, last: bool) -> Any:
        """Compute a slice."""
        self._in_last = last
        if last or self._ddp.static_graph:  # with a static graph, PyTorch 2.13 fails in `no_sync`
            return part(piece)
        with self._ddp.no_sync():
            return part(piece)

    def end(self) -> None:
        """Remove the hooks."""
        while self._hooks:
            self._hooks.pop().remove()

    def exchange(self, has_failed: bool) -> bool | None:  # noqa: ARG002  the signature of computations
        """Return that nothing is known about other ranks: they have exchanged gradients alone."""
        return None

    def objection(self, error: BaseException) -> str:
        """Return why the batch cannot be repeated: peers have received, or wait for, what it would send again."""
        if self._unsupported:
            return f"DistributedDataParallel with {self._unsupported}"
        if is_inside_collective(error):
            return "the ranks were exchanging buffers"
        if self._armed or (self._in_last and part_of_step(error) == BACKWARD):
            return "the ranks were exchanging gradients"
        return ""

    def _reset(self) -> None:
        self._entered = False  # a forward pass has come behind the exchanges at its begin
        self._armed = False  # gradients are exchanged as soon as a backward pass begins
        self._in_last = False

    def _enter(self, module: Any, inputs: Any) -> None:  # noqa: ARG002  the signature of hooks
        self._entered = True

    def _leave(self, module: Any, inputs: Any, output: Any) -> None:  # noqa: ARG002  the signature of hooks
        self._armed = self._armed or self._in_last


class ReducedSlices:
    """Slices of DistributedDataParallel without any exchange, and one exchange of the gradients after the last."""

    __slots__ = ("_ddp", "_parameters", "_reads")

    def __init__(self, facts: ModelFacts, reads: bool) -> None:
        self._ddp = facts.ddp
        self._parameters = facts.parameters
        self._reads = reads  # whether a rank has failed is read, which waits for the device

    def begin(self, repeated: bool) -> None:
        """Begin the batch."""

    def compute(self, part: Part, piece: Any, last: bool) -> Any:  # noqa: ARG002  the signature of computations
        """Compute a slice."""
        self._ddp.require_forward_param_sync = False  # no exchange of buffers
        with self._ddp.no_sync():
            return part(piece)

    def end(self) -> None:
        """Let the next forward pass that exchanges gradients exchange buffers too."""
        self._ddp.require_forward_param_sync = True

    def exchange(self, has_failed: bool) -> bool | None:
        """Exchange the gradients. Return whether a rank has failed in this batch."""
        flag = reduce_gradients(self._parameters, self._ddp.process_group, has_failed)
        return bool(flag.item() > 0) if self._reads else None

    def objection(self, error: BaseException) -> str:
        """Return why the batch cannot be repeated."""
        return "the ranks were exchanging buckets" if is_inside_collective(error) else ""
