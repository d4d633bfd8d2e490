"""Tries configurations on an executor: some at once, resumed where a journal says, none lost because another failed."""

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
from flyball_planner.sweep.configurations import Configuration
from flyball_planner.sweep.journal import Journal
from flyball_planner.sweep.trial import Outcome, Task, run_trial
from flyball_reports.errors import InputError

WORKER_DIED = "its worker process died: killed, out of memory, or crashed in native code"
OpenExecutor = Callable[[], AbstractContextManager[Executor]]


class Progress(Struct, frozen=True):
    """How far a sweep is, told after each configuration."""

    done: int
    total: int
    failed: int
    elapsed_seconds: float
    remaining_seconds: float | None  # as the configurations so far went; nothing before the first
    latest: Outcome


def single_process() -> ProcessPoolExecutor:
    """One process beside this one: configurations that run one at a time do not slow each other down."""
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


def run_sweep(
    task: Task,
    configurations: Iterable[Configuration],
    *,
    open_executor: OpenExecutor = single_process,
    at_once: int = 1,
    repeats: int = 1,
    journal: Path | None = None,
    subject: str = "sweep",
    retry_failed: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Outcome]:
    """Every outcome, in the order of the configurations.

    `open_executor` gives a fresh executor as a context manager (a process pool, `client.get_executor` of a Dask
    cluster, …); a new one is asked for when a worker's death has broken the last.
    """
    wanted = list(dict.fromkeys(configurations))
    with _opened(journal, {"subject": subject, "task": _named(task), "repeats": repeats}) as results:
        outcomes = _earlier(results, wanted, retry_failed=retry_failed)
        watch = _Watch(len(wanted), outcomes, on_progress, clock)
        waiting = [each for each in wanted if each not in outcomes]
        for outcome in _tried(task, waiting, open_executor, at_once, repeats):
            if results:
                results.append(_record(outcome))
            watch.note(outcome)
    return [outcomes[each] for each in wanted]


def _opened(journal: Path | None, subject: Mapping[str, object]) -> AbstractContextManager[Journal | None]:
    return Journal(journal, subject) if journal else nullcontext()


def _named(task: Task) -> object:
    """What tells a task from another in a journal: a command's words, a function's place."""
    if isinstance(task, Command):
        return list(task.arguments)
    return f"{getattr(task, '__module__', '')}.{getattr(task, '__qualname__', type(task).__qualname__)}"


def _tried(
    task: Task, waiting: Sequence[Configuration], open_executor: OpenExecutor, at_once: int, repeats: int
) -> Iterator[Outcome]:
    """Outcomes as they come. After a death all that were running are tried again, each alone, to find who did it."""
    pending = deque(waiting)
    while pending:
        suspects = yield from _drained(task, pending, open_executor, at_once, repeats)
        for suspect in suspects:
            dead = yield from _drained(task, deque([suspect]), open_executor, 1, repeats)
            if dead:
                yield Outcome(suspect, failure=WORKER_DIED)


def _drained(
    task: Task, pending: deque[Configuration], open_executor: OpenExecutor, at_once: int, repeats: int
) -> Generator[Outcome, None, list[Configuration]]:
    """Work on one executor until nothing is pending or it breaks; returns what was running when it broke."""
    running: dict[Future[Outcome], Configuration] = {}
    broken: list[Configuration] = []
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


def _result(future: Future[Outcome], configuration: Configuration) -> Outcome | None:
    """Nothing where the executor broke; what else fails outside the trial is the executor's own trouble."""
    try:
        return future.result()
    except BrokenExecutor:
        return None
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"the task cannot be sent to the executor ({error}); use a command, or a function at the top of a module"
        ) from error
    except CancelledError:
        return Outcome(configuration, failure="cancelled by the executor")
    except Exception as error:  # noqa: BLE001  a distributed engine tells a lost worker by errors of its own
        return Outcome(configuration, failure=f"{type(error).__name__}: {error}")


class _Watch:
    """Counts and tells."""

    def __init__(
        self,
        total: int,
        outcomes: dict[Configuration, Outcome],
        tell: Callable[[Progress], None],
        clock: Callable[[], float],
    ) -> None:
        self._total, self._outcomes, self._tell, self._clock = total, outcomes, tell, clock
        self._started = clock()
        self._before = len(outcomes)

    def note(self, outcome: Outcome) -> None:
        """One more is done."""
        self._outcomes[outcome.configuration] = outcome
        done = len(self._outcomes)
        elapsed = self._clock() - self._started
        remaining = elapsed / (done - self._before) * (self._total - done)
        failed = sum(bool(each.failure) for each in self._outcomes.values())
        self._tell(Progress(done, self._total, failed, elapsed, remaining, outcome))


def _earlier(
    journal: Journal | None, wanted: Sequence[Configuration], *, retry_failed: bool
) -> dict[Configuration, Outcome]:
    """What an earlier sweep already knows of these configurations; a later line stands for an earlier one."""
    found: dict[Configuration, Outcome] = {}
    asked = set(wanted)
    for record in journal.records if journal else ():
        outcome = _outcome(record)
        if outcome.configuration in asked:
            found[outcome.configuration] = outcome
    return {name: each for name, each in found.items() if not (retry_failed and each.failure)}


def _record(outcome: Outcome) -> dict[str, object]:
    return {
        "configuration": dict(outcome.configuration),
        "seconds": outcome.seconds,
        "patterns": outcome.patterns,
        "failure": outcome.failure,
        "figures": dict(outcome.figures),
        "every_seconds": list(outcome.every_seconds),
    }


def _outcome(record: Mapping[str, Any]) -> Outcome:
    try:
        return Outcome(
            Configuration.of(record["configuration"]),
            record["seconds"],
            record["patterns"],
            record["failure"],
            record["figures"],
            tuple(record["every_seconds"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"a line of the results is not a sweep's ({error}); give another file") from None
