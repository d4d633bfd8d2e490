"""Pieces of work done side by side: nothing is lost, whatever becomes of a worker."""

import os
import threading
from collections.abc import Callable

import pytest

from flyball_audit.workers import MOST_WORKERS, side_by_side, workers_for

HERE = os.getpid()


def _ignore(_word: str) -> None: ...


def _double(number: int, tell: Callable[[str], None]) -> int:
    tell(f"piece {number}")
    return 2 * number


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_stand_in_the_order_of_numbers(workers: int) -> None:
    """However many share the work, and in whatever order it is begun; what is told reaches the first process."""
    told: list[str] = []
    assert side_by_side(_double, [2, 0, 3, 1], workers, told.append) == [0, 2, 4, 6]
    assert sorted(told) == [f"piece {number}" for number in range(4)]


def test_what_is_known_here_is_known_to_the_workers() -> None:
    """Work need not be importable, and is done in another process."""
    offset = 5
    found = side_by_side(lambda number, _tell: (number + offset, os.getpid()), [0, 1], 2, _ignore)
    assert [each for each, _ in found] == [5, 6]
    assert all(process != HERE for _, process in found)


@pytest.mark.parametrize("end", [lambda: os.kill(os.getpid(), 9), lambda: 1 // 0, lambda: os._exit(0)])
def test_a_lost_worker_costs_nothing_but_time(end: Callable[[], None]) -> None:
    """Killed for its memory, failed or gone: the first process does what it left."""

    def work(number: int, _tell: Callable[[str], None]) -> int:
        if os.getpid() != HERE:
            end()
        return number

    assert side_by_side(work, [0, 1, 2], 2, _ignore) == [0, 1, 2]


def test_a_fault_is_met_in_the_first_process() -> None:
    """What fails everywhere fails here, as it would have without workers."""

    def work(number: int, _tell: Callable[[str], None]) -> int:
        return 1 // number

    with pytest.raises(ZeroDivisionError):
        side_by_side(work, [0, 1], 2, _ignore)


def test_an_interruption_ends_the_workers() -> None:
    """Who interrupts waits for nobody, and leaves no process behind."""
    endless = threading.Event()

    def work(_number: int, tell: Callable[[str], None]) -> None:
        tell(str(os.getpid()))
        endless.wait()

    workers: list[int] = []

    def interrupt(word: str) -> None:
        workers.append(int(word))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, [0, 1], 2, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(workers[0], 0)


def test_as_many_workers_as_processors_and_pieces() -> None:
    """Never more than there are of either; one while another thread runs, as its locks would be forked with it."""
    assert workers_for(1) == 1
    assert 1 <= workers_for(1000) <= min(len(os.sched_getaffinity(0)), MOST_WORKERS)
    goes_on = threading.Event()
    other = threading.Thread(target=goes_on.wait)
    other.start()
    assert workers_for(1000) == 1
    goes_on.set()
    other.join()
