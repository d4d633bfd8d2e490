"""The stacks of a process as one text: Python's where they can be had, and always the kernel's view of each thread."""

import time
from pathlib import Path

from flyball_agent.captures.kernel_threads import threads_text
from flyball_agent.captures.order import CaptureFailed, CheckedOrder
from flyball_agent.captures.py_spy import dump, find_py_spy
from flyball_agent.captures.results import ResultNote
from flyball_agent.captures.signal_stacks import find_stacks_file, write_and_read

_NO_PY_SPY = (
    "py-spy is not installed on this host, and the process was started without FLYBALL_STACKS=1. "
    "Install py-spy, or set FLYBALL_STACKS=1 where the training starts"
)


def capture_stacks(order: CheckedOrder, host: str, proc_root: Path) -> tuple[bytes, ResultNote]:
    """Return the stacks of the order's process. It blocks. Raise `CaptureFailed` if the process has ended."""
    folder = proc_root / str(order.pid)
    if not folder.is_dir():
        raise CaptureFailed(f"process {order.pid} has ended")
    source, python, detail = _python_stacks(order.pid, folder)
    kernel = threads_text(folder)
    title = f"Stacks of rank {order.rank} of run {order.run} on {host}, process {order.pid}"
    moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    parts = [
        f"{title}, {moment}",
        f"== Python ({source}) ==\n{python}" if python else f"== Python ==\nunavailable: {detail}",
        f"== Kernel ==\n{kernel}",
    ]
    body = "\n\n".join(part.rstrip() for part in parts).encode()[: order.max_bytes]
    return body + b"\n", ResultNote(source, "stacks.txt", "" if python else f"without Python stacks: {detail}")


def _python_stacks(pid: int, folder: Path) -> tuple[str, str, str]:
    """Return the source, the stacks, and why there are none."""
    reasons: list[str] = []
    if (file := find_stacks_file(folder)) is not None:
        try:
            return "signal", write_and_read(file, folder, pid), ""
        except CaptureFailed as failure:
            reasons.append(str(failure))
    if (program := find_py_spy()) is not None:
        try:
            return "py-spy", dump(program, pid), ""
        except CaptureFailed as failure:
            reasons.append(str(failure))
    elif not reasons:
        reasons.append(_NO_PY_SPY)
    return "kernel", "", "; ".join(reasons)
