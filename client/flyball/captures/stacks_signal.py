"""Stacks on a signal, if the user has switched them on: Python's faulthandler writes into a file in memory.

A rank that hangs in a collective or in a driver reads no socket, but the handler is written in C and still runs. The
agent finds the file by its name, so nothing has to be sent to it.
"""

import faulthandler
import os
import signal

NAME = "flyball-stacks"
_enabled: int | None = None  # the signal
_file = -1


def enable() -> bool:
    """Write the stacks of all threads whenever the agent asks for them. Return False if no signal is free."""
    global _enabled, _file  # noqa: PLW0603  once in a process, because signals belong to it
    if _enabled is not None:
        return True
    try:
        number = _free_signal()
        if number is None:
            return False
        _file = os.memfd_create(f"{NAME}-{number}", os.MFD_CLOEXEC)
        os.set_inheritable(_file, False)
        _append(_file)
        faulthandler.register(number, file=_file, all_threads=True, chain=False)
    except (OSError, ValueError, AttributeError, RuntimeError):
        return False
    _enabled = number
    return True


def _append(descriptor: int) -> None:
    """Let each dump follow the last one, also if somebody truncates the file."""
    import fcntl

    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)


def _free_signal() -> int | None:
    """Return the highest real-time signal that nobody handles, ignores or blocks. SIGUSR1 and 2 are never taken.

    Slurm and PyTorch's profiler use those two, and C libraries take the first real-time signals.
    """
    taken = _taken_mask()
    for number in range(signal.SIGRTMAX - 1, signal.SIGRTMIN + 2, -1):
        if not taken >> (number - 1) & 1 and signal.getsignal(number) is signal.SIG_DFL:
            return number
    return None


def _taken_mask() -> int:
    mask = 0
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(("SigBlk:", "SigIgn:", "SigCgt:")):
                mask |= int(line.split()[1], 16)
    return mask
