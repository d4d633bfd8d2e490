"""Runs configurations on an executor: several at once, resumed from a journal, and isolated from each other's
failures."""

import multiprocessing
import pickle
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from msgspec import Struct

from flyball_planner.sweep.commands import Command
from flyball_planner.sweep.configurations import SweepConfiguration
from flyball_planner.sweep.journal import SweepJournal
from flyball_planner.sweep.trial import Task, TrialOutcome, run_trial
from flyball_reports.errors import InputError

WORKER_DIED = "its worker process died: killed, out of memory, or crashed in native code"
OpenExecutor = Callable[[], AbstractContextManager[Executor]]


class SweepProgress(Struct, frozen=True):
    """The progress of a sweep, reported after each configuration."""

    done: int
    total: int
    failed: int
    elapsed_seconds: float
    remaining_seconds: float | None  # extrapolated from the configurations so far
    latest: TrialOutcome


def single_process() -> ProcessPoolExecutor:
    """Return an executor with one process, so that configurations do not slow each other down."""
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


def run_sweep(
    task: Task,
    configurations: Iterable[SweepConfiguration],
    *,
    open_executor: OpenExecutor = single_process,
    at_once: int = 1,
    repeats: int = 1,
    journal: Path | None = None,
    subject: str = "sweep",
    retry_failed: bool = False,
    on_progress: Callable[[SweepProgress], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[TrialOutcome]:
    """Run all configurations and return their outcomes in the same order.

    `open_executor` returns a new executor as a context manager (a process pool, `client.get_executor` of a Dask cluster
    …). It is called again when the death of a worker has broken the previous executor.
    """
    wanted = list(dict.fromkeys(configurations))
    with _opened(journal, {"subject": subject, "task": _named(task), "repeats": repeats}) as results:
        outcomes = _earlier(results, wanted, retry_failed=retry_failed)
        watch = _ProgressReporter(len(wanted), outcomes, on_progress, clock)
        missing = [each for each in wanted if each not in outcomes]
        for outcome in _tried(task, missing, open_executor, at_once, repeats):
            if results:
                results.append(_record(outcome))
            watch.note(outcome)
    return [outcomes[each] for each in wanted]


def _opened(journal: Path | None, subject: Mapping[str, object]) -> AbstractContextManager[SweepJournal | None]:
    return SweepJournal(journal, subject) if journal else nullcontext()


def _named(task: Task) -> object:
    """Return what identifies a task in a journal: a command's arguments or a function's name."""
    if isinstance(task, Command):
        return list(task.arguments)
    return f"{getattr(task, '__module__', '')}.{getattr(task, '__qualname__', type(task).__qualname__)}"


def _tried(
    task: Task, waiting: Sequence[SweepConfiguration], open_executor: OpenExecutor, at_once: int, repeats: int
) -> Iterator[TrialOutcome]:
    """Yield outcomes as they arrive. After a worker died, the running configurations are tried one at a time."""
    pending = deque(waiting)
    while pending:
        suspects = yield from _run_until_broken(task, pending, open_executor, at_once, repeats)
        for suspect in suspects:
            dead = yield from _run_until_broken(task, deque([suspect]), open_executor, 1, repeats)
            if dead:
                yield TrialOutcome(suspect, failure=WORKER_DIED)


def _run_until_broken(
    task: Task, pending: deque[SweepConfiguration], open_executor: OpenExecutor, at_once: int, repeats: int
) -> Generator[TrialOutcome, None, list[SweepConfiguration]]:
    """Run configurations on one executor until it breaks; returns those that were running then."""
    running: dict[Future[TrialOutcome], SweepConfiguration] = {}
    broken: list[SweepConfiguration] = []
    with open_executor() as executor:
        try:
            while (pending or running) and not broken:
                while pending and len(running) < at_once:
                    running[executor.submit(run_trial, task, pending[0], repeats)] = pending[0]
                    pending.popleft()
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    configuration = running.pop(future)
                    outcome = _result(future, configuration)
                    if outcome is None:
                        broken.append(configuration)
                    else:
                        yield outcome
        except BrokenExecutor:  # on submitting
            pass
        finally:
            for future in running:
                future.cancel()
    return [*broken, *running.values()]


def _result(future: Future[TrialOutcome], configuration: SweepConfiguration) -> TrialOutcome | None:
    """Return the outcome, or nothing if the executor broke."""
    try:
        return future.result()
    except BrokenExecutor:
        return None
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"the task cannot be sent to the executor ({error}); use a command or a top-level function of a module"
        ) from error
    except CancelledError:
        return TrialOutcome(configuration, failure="cancelled by the executor")
    except Exception as error:  # noqa: BLE001  distributed engines report lost workers with their own errors
        return TrialOutcome(configuration, failure=f"{type(error).__name__}: {error}")


class _ProgressReporter:
    """Counts outcomes and reports progress."""

    def __init__(
        self,
        total: int,
        outcomes: dict[SweepConfiguration, TrialOutcome],
        report: Callable[[SweepProgress], None],
        clock: Callable[[], float],
    ) -> None:
        self._total, self._outcomes, self._report, self._clock = total, outcomes, report, clock
        self._started = clock()
        self._before = len(outcomes)

    def note(self, outcome: TrialOutcome) -> None:
        """Record an outcome and report the progress."""
        self._outcomes[outcome.configuration] = outcome
        done = len(self._outcomes)
        elapsed = self._clock() - self._started
        remaining = elapsed / (done - self._before) * (self._total - done)
        failed = sum(bool(each.failure) for each in self._outcomes.values())
        self._report(SweepProgress(done, self._total, failed, elapsed, remaining, outcome))


def _earlier(
    journal: SweepJournal | None, wanted: Sequence[SweepConfiguration], *, retry_failed: bool
) -> dict[SweepConfiguration, TrialOutcome]:
    """Return the outcomes of an earlier sweep; of several lines, the last one counts."""
    found: dict[SweepConfiguration, TrialOutcome] = {}
    known = set(wanted)
    for record in journal.records if journal else ():
        outcome = _outcome(record)
        if outcome.configuration in known:
            found[outcome.configuration] = outcome
    return {name: each for name, each in found.items() if not (retry_failed and each.failure)}


def _record(outcome: TrialOutcome) -> dict[str, object]:
    return {
        "configuration": dict(outcome.configuration),
        "seconds": outcome.seconds,
        "patterns": outcome.patterns,
        "failure": outcome.failure,
        "figures": dict(outcome.figures),
        "every_seconds": list(outcome.every_seconds),
    }


def _outcome(record: Mapping[str, Any]) -> TrialOutcome:
    try:
        return TrialOutcome(
            SweepConfiguration.of(record["configuration"]),
            record["seconds"],
            record["patterns"],
            record["failure"],
            record["figures"],
            tuple(record["every_seconds"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"invalid line in the results ({error}); choose another file") from None
