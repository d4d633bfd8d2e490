"""Stacks of a Python process from outside, with the program py-spy if it is installed.

`--nonblocking` reads the memory of the process while it runs. Without it, py-spy stops the process: measured 350 ms
instead of 63 ms for a training step.
"""

import shutil
import subprocess
import sys
import threading
from pathlib import Path

from flyball_agent.captures.order import CaptureFailed

SECONDS = 15.0
_MAX_BYTES = 2 * 1024 * 1024
_LONGEST_REASON = 300
_AFTER_COMMAND = "\nPython v"
_DENIED = "Permission denied"
_REMEDY = "give the agent CAP_SYS_PTRACE (docs/how-to/agent-permissions.md)"


def find_py_spy() -> str | None:
    """Return the path of py-spy: on PATH, or beside the agent's interpreter."""
    beside = Path(sys.executable).parent / "py-spy"
    return shutil.which("py-spy") or (str(beside) if beside.is_file() else None)


def dump(program: str, pid: int, seconds: float = SECONDS) -> str:
    """Return the stacks of a process. It blocks. Raise `CaptureFailed` with the reason if py-spy fails."""
    command = [program, "dump", "--nonblocking", "--pid", str(pid)]
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=True
        )
    except OSError as error:
        raise CaptureFailed(f"{program}: {error.strerror or error}") from None
    timer = threading.Timer(seconds, child.kill)
    timer.start()
    with child:
        assert child.stdout is not None and child.stderr is not None  # noqa: S101, PT018  they are pipes
        output = child.stdout.read(_MAX_BYTES)
        is_cut = len(output) == _MAX_BYTES
        if is_cut:
            child.kill()
        child.stdout.close()
        errors = child.stderr.read(_MAX_BYTES).decode("utf-8", "replace")
        child.wait()
        timer.cancel()
    if not is_cut and (child.returncode or not output):
        raise CaptureFailed(_reason(errors, child.returncode, seconds))
    return _without_command(output.decode("utf-8", "replace"))


def _without_command(text: str) -> str:
    """Return the stacks without the command line before them, which may have secrets in it."""
    start = text.find(_AFTER_COMMAND)
    return text[start + 1 :] if start >= 0 else text[text.find("\n\n") + 2 :]


def _reason(errors: str, status: int, seconds: float) -> str:
    if status == -9:
        return f"py-spy did not end within {seconds:g} s"
    words = " ".join(line.strip() for line in errors.splitlines() if line.strip())[:_LONGEST_REASON]
    if _DENIED.lower() in words.lower():
        return f"py-spy has no permission for the process; {_REMEDY}"
    return f"py-spy: {words or f'exit status {status}'}"
