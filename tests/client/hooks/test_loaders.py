"""Waiting for a loader, and the samples that it gives."""

import threading
import time
import traceback
from collections.abc import Callable

import pytest

from flyball.hooks.loaders import Waits
from flyball.hooks.steps import OptimizerSteps
from flyball.training.opening import run
from tests.client.hooks.reports import Reports, total
from tests.client.hooks.test_steps import Optimizer, finish, step


class Batch:
    """A tensor's shape."""

    shape: tuple[int, ...] = ()

    def __init__(self, *shape: int) -> None:
        self.shape = shape


class Iterator:
    """An iterator as torch's loader gives it."""

    _auto_collation = True

    def __init__(self, size: int = 4, inner: "Callable[[], object] | None" = None) -> None:
        self.size, self.inner = size, inner

    def give(self) -> object:
        """Return a batch."""
        if self.inner is not None:
            self.inner()
        return Batch(self.size, 8)


def waiting(waits: Waits) -> Callable[[Iterator], object]:
    """Return the measured method of an iterator."""
    return waits.measured_next(Iterator.give)


def test_waits_and_samples_between_steps_are_counted(reports: Reports) -> None:
    """Those before the first step are not: the clock starts there."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    waits = Waits(steps)
    give, iterator = waiting(waits), Iterator()
    for _ in range(4):
        give(iterator)
        step(steps, optimizer)
    finish(steps)
    (lines,) = reports.runs()
    assert total(lines, "samples") == 3 * 4
    assert 0 < total(lines, "data_wait_seconds") < total(lines, "step_seconds")


def test_samples_of_micro_batches_add_up_and_those_of_an_evaluation_do_not_count(reports: Reports) -> None:
    """The loader that gave the last batch before the step is that of the training."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    waits = Waits(steps)
    give, training, evaluation = waiting(waits), Iterator(4), Iterator(1000)
    step(steps, optimizer)
    for _ in range(3):
        for _ in range(5):
            give(evaluation)
        for _ in range(2):
            give(training)
        step(steps, optimizer)
    finish(steps)
    assert total(reports.runs()[0], "samples") == 3 * 2 * 4


def test_a_loader_inside_of_a_loader_counts_once(reports: Reports) -> None:
    """The outer one is what the training waits for."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    waits = Waits(steps)
    give = waiting(waits)
    step(steps, optimizer)
    inner = Iterator(50, inner=lambda: time.sleep(0.05))
    give(Iterator(2, inner=lambda: give(inner)))
    step(steps, optimizer)
    finish(steps)
    (lines,) = reports.runs()
    assert total(lines, "samples") == 2
    assert 0.05 <= total(lines, "data_wait_seconds") <= total(lines, "step_seconds")


def test_loaders_of_other_threads_do_not_count(reports: Reports) -> None:
    """The training does not wait for a thread that loads ahead."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    waits = Waits(steps)
    give = waiting(waits)
    step(steps, optimizer)
    thread = threading.Thread(target=give, args=(Iterator(),))
    thread.start()
    thread.join()
    step(steps, optimizer)
    finish(steps)
    (lines,) = reports.runs()
    assert total(lines, "samples") == total(lines, "data_wait_seconds") == 0


def test_single_samples_are_not_taken_for_batches(reports: Reports) -> None:
    """Without a batch size the loader gives what the data set gives, whose first dimension means something else."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    waits = Waits(steps)
    give, iterator = waiting(waits), Iterator()
    iterator._auto_collation = False
    for _ in range(3):
        give(iterator)
        step(steps, optimizer)
    finish(steps)
    assert total(reports.runs()[0], "samples") == 0


@pytest.mark.parametrize("by_script", [False, True])
def test_a_run_of_the_script_gets_the_waits_unless_it_measures_them(reports: Reports, by_script: bool) -> None:
    """`run.data` would count them a second time."""
    steps = OptimizerSteps()
    waits = Waits(steps)
    give = waiting(waits)
    own = run("own")
    if by_script:
        own.data([1])
    step(steps, Optimizer())
    own.step()
    give(Iterator())
    own.step()
    own.finish()
    assert (total(reports.runs()[0], "data_wait_seconds") > 0) == (not by_script)


@pytest.mark.usefixtures("reports")
def test_the_end_of_an_epoch_and_errors_pass_unchanged() -> None:
    """The traceback does not show the hooks, and the next batch is measured again."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    waits = Waits(steps)
    step(steps, optimizer)

    def end(_iterator: object) -> object:
        raise StopIteration

    def fail(_iterator: object) -> object:
        raise ValueError("sample 7")

    for method, error in ((end, StopIteration), (fail, ValueError)):
        measured = waits.measured_next(method)
        for _ in range(2):
            with pytest.raises(error) as caught:
                measured(Iterator())
            assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1:] == [method.__name__]
    assert not steps.inside


def test_starting_an_iterator_is_waiting_too(reports: Reports) -> None:
    """Workers are started there, in each epoch."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    waits = Waits(steps)
    started = Iterator()
    begin = waits.measured_iter(lambda _loader: started)
    step(steps, optimizer)
    assert begin(object()) is started
    step(steps, optimizer)
    finish(steps)
    assert total(reports.runs()[0], "data_wait_seconds") > 0
