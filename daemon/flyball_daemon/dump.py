"""Dumps the stacks of all threads and tasks on SIGUSR1, even while the event loop hangs."""

import asyncio
import faulthandler
import signal
import sys
from typing import TextIO


def install(loop: asyncio.AbstractEventLoop | None = None, stream: TextIO | None = None) -> None:
    """Dump all threads on SIGUSR1, from the signal handler itself; then the event loop dumps its tasks."""
    out = stream if stream is not None else sys.stderr
    if loop is not None:
        loop.add_signal_handler(signal.SIGUSR1, _write_tasks, loop, out)
    faulthandler.register(signal.SIGUSR1, file=out, all_threads=True, chain=loop is not None)


def uninstall(loop: asyncio.AbstractEventLoop | None = None) -> None:
    """Restore the handling of the signal."""
    faulthandler.unregister(signal.SIGUSR1)
    if loop is not None and not loop.is_closed():
        loop.remove_signal_handler(signal.SIGUSR1)


def describe_tasks(loop: asyncio.AbstractEventLoop) -> str:
    """Return all unfinished tasks by name, with the position at which each waits."""
    tasks = sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name())
    lines = [f"Tasks ({len(tasks)}):"]
    for task in tasks:
        lines.append(f"Task {task.get_name()}: {getattr(task.get_coro(), '__qualname__', task.get_coro())}")
        lines += [
            # The traceback module would fail here, because a frame of compiled code may have no line.
            f'  File "{frame.f_code.co_filename}", line {frame.f_lineno} in {frame.f_code.co_name}'
            for frame in task.get_stack(limit=8)
        ]
    return "\n".join(lines) + "\n"


def _write_tasks(loop: asyncio.AbstractEventLoop, out: TextIO) -> None:
    try:
        out.write(describe_tasks(loop))
        out.flush()
    except (OSError, ValueError):  # the stream is closed; the daemon continues
        return
