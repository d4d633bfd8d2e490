"""SIGUSR1 shows what every thread and every task is doing, even while the event loop hangs."""

import asyncio
import faulthandler
import signal
import sys
from typing import TextIO


def install(loop: asyncio.AbstractEventLoop | None = None, stream: TextIO | None = None) -> None:
    """On SIGUSR1 write all threads' stacks at once, from the signal handler itself; then the loop writes its tasks."""
    out = stream if stream is not None else sys.stderr
    if loop is not None:
        loop.add_signal_handler(signal.SIGUSR1, _write_tasks, loop, out)
    faulthandler.register(signal.SIGUSR1, file=out, all_threads=True, chain=loop is not None)


def uninstall(loop: asyncio.AbstractEventLoop | None = None) -> None:
    """Leave the signal as it was."""
    faulthandler.unregister(signal.SIGUSR1)
    if loop is not None and not loop.is_closed():
        loop.remove_signal_handler(signal.SIGUSR1)


def describe_tasks(loop: asyncio.AbstractEventLoop) -> str:
    """Every unfinished task by name, and where it waits."""
    tasks = sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name())
    lines = [f"Tasks ({len(tasks)}):"]
    for task in tasks:
        lines.append(f"Task {task.get_name()}: {getattr(task.get_coro(), '__qualname__', task.get_coro())}")
        lines += [
            # A frame of compiled code may have no line: traceback's own printing would trip over it.
            f'  File "{frame.f_code.co_filename}", line {frame.f_lineno} in {frame.f_code.co_name}'
            for frame in task.get_stack(limit=8)
        ]
    return "\n".join(lines) + "\n"


def _write_tasks(loop: asyncio.AbstractEventLoop, out: TextIO) -> None:
    try:
        out.write(describe_tasks(loop))
        out.flush()
    except (OSError, ValueError):  # nobody listens; the daemon goes on
        return
