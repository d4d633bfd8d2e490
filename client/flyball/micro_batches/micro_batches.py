"""`run.batch`: computes the batch that came in slices, and repeats it in smaller ones if memory runs out."""

from __future__ import annotations

from time import perf_counter_ns

from flyball.adjustments.restart_state import can_remember, remember, remembered
from flyball.adjustments.value import MAX_CHOICES, AdjustableValue
from flyball.micro_batches.agreement import Agreement, agreed, number_of_ranks
from flyball.micro_batches.computation import OverlappedSlices, sum_of_slices
from flyball.micro_batches.failures import SMALLEST, Failures, objection
from flyball.micro_batches.gradients import missing_bytes
from flyball.micro_batches.model_use import ModelUse
from flyball.micro_batches.out_of_memory import OPTIMIZER, REDUCTION, free_memory, is_out_of_memory
from flyball.micro_batches.sizes import at_most, divisors, halved, limited
from flyball.micro_batches.slices import BatchSlicer, NotSliceable
from flyball.micro_batches.trial import ReductionTrial
from flyball.training.loaded_modules import initialised_cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flyball.micro_batches.computation import Computation, Part
    from flyball.micro_batches.slices import Slice
    from flyball.training.run import Run

MICRO_BATCH = "micro_batch"
MEAN = "mean"
NORMALISED = ("tokens", "samples", MEAN)

_MOST_MODELS = 8
_FIXED_MEMORY_AT = 3  # the batch before which weights and the optimizer's state exist, and no gradients


class MicroBatches:
    """The batches of one rank, in slices of `micro` samples."""

    __slots__ = (
        "_batches",
        "_has_failed",
        "_micro",
        "_run",
        "_sizes",
        "_slicer",
        "_trial",
        "_uses",
        "normalised",
        "per_rank",
    )

    def __init__(
        self,
        run: Run,
        *,
        per_rank: int,
        micro: int | None = None,
        normalised: str = MEAN,
        slice: Slice | None = None,  # noqa: A002  the name reads well in a script
    ) -> None:
        """Declare the micro-batch of a run. Raise ValueError if the arguments do not fit."""
        micro = per_rank if micro is None else micro
        _check(per_rank, micro, normalised)
        self.per_rank = per_rank
        self.normalised = normalised
        self._run = run
        self._sizes = divisors(per_rank)
        self._slicer = BatchSlicer(per_rank, slice)
        self._uses: list[ModelUse] = []  # the newest last
        self._batches = 0
        self._has_failed = False  # in a batch of this optimizer step
        self._micro = run.adjustments.add(self._declared(self._first_size(micro)))
        self._trial = ReductionTrial(run, _state_key(run))
        self._trial.follow(self._micro)

    @property
    def micro(self) -> int:
        """Return the number of samples of a slice."""
        return int(self._micro.now)

    def accumulate(
        self,
        part: Part,
        data: Any,
        *,
        model: Any = None,
        clear: Callable[[], object] | None = None,
        last: bool = True,
    ) -> Any:
        """Call `part` with each slice of a batch. Return the sum of what it returns, detached.

        `part` computes forward and backward of a slice, normalised so that the sum over the slices is right. If memory
        runs out, the gradients of the batch are removed with `clear`, and the whole batch is computed again in smaller
        slices. With `last=False`, more batches of the same optimizer step follow, and no gradients are exchanged.
        """
        use = self._use_of(model)
        exchanges = last and use.exchanges
        computation = use.computation(self._trial.is_explicit, self._trial.is_running)
        use.gradients.begin(use.is_open)
        if self._batches <= _FIXED_MEMORY_AT:
            self._note_fixed_memory(use)
        failures = Failures()
        while True:
            began = perf_counter_ns()
            pieces = self._pieces(data, use)
            try:
                computation.begin(failures.count > 0)
                total = sum_of_slices(part, pieces, computation, exchanges)
                break
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                failures.add(error, *self._failed_size(data, len(pieces)))
                if not self._can_repeat(error, use, computation, clear, failures):
                    raise
            finally:
                computation.end()
            pieces.clear()
            self._prepare(use, clear, failures)  # outside of `except`: the error keeps tensors of the failed pass alive
            failures.seconds += (perf_counter_ns() - began) * 1e-9
        self._finish(use, computation, exchanges, failures)
        return total

    def _declared(self, micro: int) -> AdjustableValue:
        value = AdjustableValue(
            MICRO_BATCH,
            micro,
            choices=limited(self._sizes, micro, MAX_CHOICES),
            safety=2,
            lever=MICRO_BATCH,
            facts={"per_rank": str(self.per_rank), "normalised": self.normalised},
        )
        value.blocked = "mean_of_means" if self.normalised == MEAN else "not_started"
        return value

    def _first_size(self, micro: int) -> int:
        """Return the size to begin with: a smaller one, if an earlier start ran out of memory."""
        kept = remembered(_state_key(self._run), MICRO_BATCH)
        return at_most(min(kept, micro), self._sizes) if isinstance(kept, int) and kept > 0 else micro

    def _use_of(self, model: Any) -> ModelUse:
        """Return how a model is used. At its first batch, all ranks agree on a size."""
        for use in reversed(self._uses):
            if use.model is model:
                return use
        use = ModelUse(model, number_of_ranks(self._run.world_size))
        reducible = use.is_reducible and self.normalised != MEAN
        mine = Agreement(self.micro, reducible, self._trial.is_wanted)
        together = agreed(mine, use.facts, can_remember())
        self._set_micro(at_most(together.size, self._sizes))
        use.is_reducible = together.is_reducible
        if use.is_reducible:
            self._trial.declare(together.is_explicit)
        self._uses = [*self._uses[1 - _MOST_MODELS :], use]
        return use

    def _pieces(self, data: Any, use: ModelUse) -> list[Any]:
        """Return the slices of a batch, and note whether their size may change."""
        try:
            pieces, reason = self._slicer.slices(data, self.micro), use.reason()
        except NotSliceable:
            pieces, reason = [data], "not_sliceable"
        if self.normalised == MEAN:
            reason = "mean_of_means"
        if self._micro.blocked != reason:
            self._micro.blocked = reason
        return pieces

    def _failed_size(self, data: Any, pieces: int) -> tuple[int, int | None, bool]:
        """Return the samples of the slices that failed, the next smaller size, and whether the batch can be sliced."""
        try:
            size = self.micro if pieces > 1 else self._slicer.samples(data)
        except NotSliceable:
            return self.per_rank, None, False
        return size, halved(size, self._sizes), True

    def _set_micro(self, size: int) -> None:
        """Change the size on this rank alone."""
        if size != self._micro.now:
            self._run.adjustments.changed_locally(MICRO_BATCH, size)
            self._micro.now = size  # also if the script has declared another value under this name

    def _can_repeat(
        self,
        error: BaseException,
        use: ModelUse,
        computation: Computation,
        clear: Callable[[], object] | None,
        failures: Failures,
    ) -> bool:
        """Return True if the batch can be computed again. Otherwise report the failure, and add a note to the error."""
        reason = objection(error, use, computation, clear)
        is_exact = self.normalised != MEAN and not use.facts.statistics_change
        if not is_exact and not reason:
            reason = "the loss is a mean over each slice, so smaller ones give other results; pass `normalised=`"
        if not reason and failures.smaller is None:
            reason = SMALLEST if failures.is_sliceable else "the batch cannot be sliced; pass `slice=`"
        is_kept = False
        if is_exact and failures.smaller is not None and failures.where != OPTIMIZER:
            is_kept = remember(_state_key(self._run), MICRO_BATCH, failures.smaller)
        if reason:
            is_wanted = isinstance(computation, OverlappedSlices) and self._trial.want()
            error.add_note(failures.note(reason, is_kept, is_wanted))
            self._report(failures, failures.smaller if is_kept else None, recovered=False)
        return not reason

    def _prepare(self, use: ModelUse, clear: Callable[[], object] | None, failures: Failures) -> None:
        """Remove what the failed pass has left, and make the slices smaller."""
        use.gradients.clear(clear)
        free_memory()
        if failures.smaller is not None:
            self._set_micro(failures.smaller)

    def _finish(self, use: ModelUse, computation: Computation, exchanges: bool, failures: Failures) -> None:
        self._has_failed = self._has_failed or failures.count > 0
        if exchanges:
            try:
                has_any_failed = computation.exchange(self._has_failed)
            except Exception as error:
                if is_out_of_memory(error):
                    failures.add(error, self.micro, halved(self.micro, self._sizes), True)
                    failures.where = REDUCTION
                    error.add_note(failures.note("the ranks were exchanging gradients", is_kept=False))
                    self._report(failures, None, recovered=False)
                raise
            self._has_failed = False
            self._trial.count_step(has_any_failed)
        use.gradients.end()
        use.is_open = not exchanges
        if failures.count:
            self._report(failures, self.micro, recovered=True)

    def _report(self, failures: Failures, to: int | None, *, recovered: bool) -> None:
        """Report the failures. `to` is the new size, here or at the next start; None if nothing changes."""
        self._run.adjustments.note_oom(
            step=self._run.last_step + 1,
            where=failures.where,
            name=MICRO_BATCH,
            from_=failures.first_size,
            to=to,
            recovered=recovered,
            retry_seconds=failures.seconds,
        )

    def _note_fixed_memory(self, use: ModelUse) -> None:
        """Let the governor know what does not depend on the size: weights, gradients and the optimizer's state."""
        self._batches += 1
        cuda = initialised_cuda()
        if self._batches == _FIXED_MEMORY_AT and cuda is not None and not use.gradients.is_pending:
            try:
                fixed = cuda.memory_allocated() + missing_bytes(use.model, use.facts.parameters)
            except Exception:  # noqa: BLE001  of parameters that have no size yet, for example: it stays unknown
                return
            self._micro.set_fact("fixed_bytes", str(fixed))


def _check(per_rank: object, micro: object, normalised: object) -> None:
    """Raise ValueError for arguments with which no batch can be computed."""
    if type(per_rank) is not int or per_rank < 1:
        raise ValueError(f"run.batch: per_rank={per_rank!r}: expected the number of samples of a rank's batch")
    if type(micro) is not int or micro < 1 or per_rank % micro:
        sizes = ", ".join([str(size) for size in limited(divisors(per_rank), per_rank, 12)])
        raise ValueError(f"run.batch: micro={micro!r} does not divide per_rank={per_rank}: use one of {sizes}")
    if normalised not in NORMALISED:
        raise ValueError(f"run.batch: normalised={normalised!r}: use one of {', '.join(NORMALISED)}")


def _state_key(run: Run) -> str:
    """Return the name under which a rank keeps its size. Ranks of a host must not write the same file."""
    return f"{run.rank} {run.name}"


MicroBatches.accumulate.__dict__["_torchdynamo_disable"] = True  # in a function that torch compiles, it runs as it is
