"""The kernel's view of a process: the state of each thread, where it waits, and its stack in the kernel."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flyball_agent.captures.system_calls import system_call

MAX_THREADS = 256
_READ_BYTES = 16 * 1024
_STATUS_KEYS = ("State", "Threads", "VmRSS", "VmSwap", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")


@dataclass(frozen=True, slots=True)
class KernelThread:
    """One thread. Empty texts are unknown."""

    number: int
    name: str
    state: str
    waits_in: str
    system_call: str
    stack: tuple[str, ...]


def read_threads(folder: Path) -> list[KernelThread]:
    """Return the threads of the process with this folder in procfs, the main thread first."""
    try:
        numbers = sorted(int(entry.name) for entry in (folder / "task").iterdir() if entry.name.isdigit())
    except OSError:
        return []
    return [_thread(folder / "task" / str(number), number) for number in numbers[:MAX_THREADS]]


def threads_text(folder: Path) -> str:
    """Return the kernel's view of a process as text."""
    threads = read_threads(folder)
    total = _status(folder).get("Threads", str(len(threads)))
    lines = [f"{key}: {value}" for key, value in _status(folder).items()]
    lines += ["", f"{'THREAD':>8}  {'STATE':14} {'WAITS IN':28} {'SYSTEM CALL':16} NAME"]
    for thread in threads:
        waits = f"{thread.waits_in or '-':28} {thread.system_call or '-':16}"
        lines.append(f"{thread.number:>8}  {thread.state:14} {waits} {thread.name}")
        lines += [f"{'':10}{frame}" for frame in thread.stack]
    if total.isdigit() and int(total) > len(threads):
        lines.append(f"… and {int(total) - len(threads)} more threads")
    return "\n".join(lines)


def _thread(folder: Path, number: int) -> KernelThread:
    waits_in = _text(folder / "wchan")
    return KernelThread(
        number,
        _text(folder / "comm"),
        _status(folder).get("State", "ended"),
        "" if waits_in == "0" else waits_in,
        system_call(_text(folder / "syscall")),
        tuple(_frames(_text(folder / "stack"))),
    )


def _frames(text: str) -> Iterator[str]:
    """Yield the functions of a kernel stack; each line is `[<0>] function+0x1/0x2`."""
    for line in text.splitlines():
        yield line.partition("] ")[2] or line


def _status(folder: Path) -> dict[str, str]:
    pairs = (line.partition(":")[::2] for line in _text(folder / "status").splitlines())
    found = {key: " ".join(value.split()) for key, value in pairs}
    return {key: found[key] for key in _STATUS_KEYS if key in found}


def _text(path: Path) -> str:
    """Return a file as printable text; empty if it is denied or the thread has ended."""
    try:
        with path.open("rb") as file:
            content = file.read(_READ_BYTES)
    except OSError:
        return ""
    lines = content.decode("utf-8", "replace").split("\n")
    return "\n".join("".join(c if c.isprintable() else " " for c in line) for line in lines).strip()
