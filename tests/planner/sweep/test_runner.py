"""Tests of sweeps on threads and processes, with failures and kills."""

import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from multiprocessing import get_context
from pathlib import Path

import pytest

from flyball_planner.sweep.configurations import SweepConfiguration, grid
from flyball_planner.sweep.runner import WORKER_DIED, SweepProgress, run_sweep
from flyball_reports.errors import InputError
from tests.planner.sweep import tasks

DEPTHS = grid({"depth": range(3, 8)})


def _threads() -> AbstractContextManager[Executor]:
    return ThreadPoolExecutor(2)


def _processes() -> AbstractContextManager[Executor]:
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


@pytest.mark.parametrize("open_executor", [_threads, _processes])
def test_every_configuration_is_tried_on_any_executor(open_executor: object) -> None:
    """Threads and processes give the same counts, in the order of the configurations."""
    outcomes = run_sweep(tasks.count, DEPTHS, open_executor=open_executor, at_once=2)  # type: ignore[arg-type]
    assert [outcome.configuration for outcome in outcomes] == list(DEPTHS)
    assert [outcome.patterns for outcome in outcomes] == [100 * depth for depth in range(3, 8)]
    assert all(outcome.figures == {"accuracy": 0.5} for outcome in outcomes)
    assert all(outcome.patterns_per_second > 0 for outcome in outcomes)


def test_a_configuration_that_fails_does_not_end_the_sweep() -> None:
    """The failed configuration has a reason, and the others have results."""
    outcomes = run_sweep(tasks.fail_at_five, DEPTHS, open_executor=_threads)
    failures = {outcome.configuration["depth"]: outcome.failure for outcome in outcomes if outcome.failure}
    assert failures == {5: "ValueError: depth 5 is not supported"}


def test_only_the_configuration_that_kills_its_worker_fails() -> None:
    """Configurations that ran at the same time are tried again and succeed."""
    outcomes = run_sweep(tasks.die_at_five, DEPTHS, open_executor=_processes, at_once=2)
    failures = {outcome.configuration["depth"]: outcome.failure for outcome in outcomes if outcome.failure}
    assert failures == {5: WORKER_DIED}
    assert [outcome.patterns for outcome in outcomes] == [3, 4, 0, 6, 7]


def test_progress_is_reported_after_each_configuration() -> None:
    """The count rises to the total, and the remaining time falls to zero."""
    seen: list[SweepProgress] = []
    ticks = iter(range(100))
    run_sweep(
        tasks.fail_at_five, DEPTHS, open_executor=_threads, on_progress=seen.append, clock=lambda: float(next(ticks))
    )
    assert [progress.done for progress in seen] == [1, 2, 3, 4, 5]
    assert [progress.remaining_seconds for progress in seen] == [4, 3, 2, 1, 0]
    assert (seen[-1].total, seen[-1].failed) == (5, 1)


def test_a_journal_skips_finished_configurations(tmp_path: Path) -> None:
    """A second sweep tries only new configurations, and failed ones only with `retry_failed`."""
    journal = tmp_path / "results.jsonl"
    first = run_sweep(tasks.fail_at_five, DEPTHS[:3], journal=journal, open_executor=_threads)
    seen: list[SweepProgress] = []
    again = run_sweep(tasks.fail_at_five, DEPTHS, journal=journal, open_executor=_threads, on_progress=seen.append)
    assert again[:3] == first
    assert [progress.latest.configuration["depth"] for progress in seen] == [6, 7]
    seen.clear()
    run_sweep(
        tasks.fail_at_five,
        DEPTHS,
        journal=journal,
        open_executor=_threads,
        on_progress=seen.append,
        retry_failed=True,
    )
    assert [progress.latest.configuration["depth"] for progress in seen] == [5]


def test_a_killed_sweep_continues(tmp_path: Path) -> None:
    """After SIGKILL no finished configuration is tried again, and none is missing."""
    journal = tmp_path / "results.jsonl"
    code = (
        "from pathlib import Path\nfrom functools import partial\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "from flyball_planner.sweep.configurations import grid\nfrom flyball_planner.sweep.runner import run_sweep\n"
        "from tests.planner.sweep.tasks import note\n"
        f"run_sweep(note, grid({{'depth': range(40), 'folder': [{str(tmp_path)!r}]}}), journal=Path({str(journal)!r}),"
        " open_executor=partial(ThreadPoolExecutor, 1))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 30
    while not journal.exists() or journal.read_bytes().count(b"\n") < 4:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = journal.read_bytes().count(b"\n") - 1
    outcomes = run_sweep(
        tasks.note,
        grid({"depth": range(finished + 3), "folder": [str(tmp_path)]}),
        journal=journal,
        open_executor=_threads,
    )
    assert len(outcomes) == finished + 3
    calls = (tmp_path / "calls").read_text().split()
    twice = [depth for depth in set(calls) if calls.count(depth) > 1]
    assert set(calls) == {str(depth) for depth in range(finished + 3)}
    assert len(twice) <= 1  # the one that was running at the kill


def test_equal_configurations_are_tried_once() -> None:
    """Two configurations with the same values are one."""
    configuration = SweepConfiguration.of({"depth": 3})
    assert len(run_sweep(tasks.count, [configuration, configuration], open_executor=_threads)) == 1


def test_a_task_that_cannot_be_pickled_is_refused() -> None:
    """A function that another process cannot import is an error that explains what to use instead."""
    with pytest.raises(InputError, match="use a command or a top-level function of a module"):
        run_sweep(lambda depth: depth, DEPTHS, open_executor=_processes)


class _Lossy(ThreadPoolExecutor):
    """An executor whose futures fail, as if a distributed engine had lost a worker."""

    def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]
        lost: Future[object] = Future()
        lost.set_exception(RuntimeError("worker lost"))
        return lost


def test_an_error_of_the_executor_fails_its_configuration() -> None:
    """An error of the executor becomes the configuration's failure."""
    outcomes = run_sweep(tasks.count, DEPTHS, open_executor=lambda: _Lossy(1))
    assert {outcome.failure for outcome in outcomes} == {"RuntimeError: worker lost"}
