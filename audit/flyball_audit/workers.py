"""Pieces of work done side by side, by processes that are forked from this one and know all that it knows."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from multiprocessing.context import ForkProcess
from typing import TypeVar

Result = TypeVar("Result")
Tell = Callable[[str], None]
"""Is told what is worked on."""

Work = Callable[[int, Tell], Result]
"""Does the piece that has a number; what it gives can be pickled."""

MOST_WORKERS = 8
"""Each may hold as much memory as one process alone: more are not worth theirs for what takes seconds."""

_NUMBER_BYTES = 4


def workers_for(pieces: int) -> int:
    """How many processes to share pieces among: one for each processor; this one alone where it must not be forked.

    A fork copies locks as they are, those too that another thread holds just then; macOS's own libraries do not bear
    it; and a daemon of `multiprocessing` may have no children.
    """
    alone = sys.platform != "linux" or threading.active_count() > 1 or multiprocessing.current_process().daemon
    return 1 if alone else min(len(os.sched_getaffinity(0)), MOST_WORKERS, pieces)


def side_by_side(work: Work[Result], order: Sequence[int], workers: int, tell: Tell) -> list[Result]:
    """What each piece gives, by number; they are begun in an order. What a worker leaves undone, this process does."""
    done = _shared(work, order, workers, tell) if workers > 1 else {}
    return [done[number] if number in done else work(number, tell) for number in range(len(order))]


def _shared(work: Work[Result], order: Sequence[int], workers: int, tell: Tell) -> dict[int, Result]:
    numbers = _queue(order)
    ours: list[Connection] = []
    processes: list[ForkProcess] = []
    try:
        for _ in range(workers):
            here, there = Pipe(duplex=False)
            ours.append(here)
            processes.append(ForkProcess(target=_serve, args=(work, numbers, there, ours), daemon=True))
            processes[-1].start()
            there.close()
        return _collected(ours, tell)
    finally:
        os.close(numbers)
        for process, connection in zip(processes, ours, strict=False):
            process.terminate()  # after an interruption; else it has ended
            process.join()
            connection.close()


def _queue(order: Iterable[int]) -> int:
    """A pipe that holds the numbers: whichever worker is free reads the next."""
    numbers, entry = os.pipe()
    os.write(entry, b"".join(each.to_bytes(_NUMBER_BYTES, "little") for each in order))
    os.close(entry)
    return numbers


def _collected(connections: Sequence[Connection], tell: Tell) -> dict[int, Result]:
    done: dict[int, Result] = {}
    working = list(connections)
    while working:
        for each in wait(working):
            assert isinstance(each, Connection)  # noqa: S101  nothing else is waited for
            try:
                said = each.recv()
            except EOFError:  # it has ended, by itself or not
                working.remove(each)
                continue
            if isinstance(said, str):
                tell(said)
            else:
                number, done[number] = said
    return done


def _serve(work: Work[Result], numbers: int, results: Connection, others: Sequence[Connection]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal tells all of its processes: the first one ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for each in others:  # else nobody learnt that the first process is gone
        each.close()
    try:
        while taken := os.read(numbers, _NUMBER_BYTES):
            number = int.from_bytes(taken, "little")
            results.send((number, work(number, results.send)))
    except Exception:  # noqa: BLE001, S110  the first process does this piece again, and meets the fault itself
        pass
