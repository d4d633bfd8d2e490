"""Measures what `import flyball` costs a script: CPU, modules, memory."""

import os
import subprocess
import sys
from statistics import median

REPEATS = 15
NOTHING = "pass"
OPENED = "import flyball; flyball.run('a-run').step()"
FORBIDDEN = frozenset(
    ["torch", "numpy", "typing", "dataclasses", "json", "socket", "contextlib", "enum", "re", "logging", "threading",
     "subprocess", "pathlib"]
)  # fmt: skip
"""Modules that cost more than the whole import of the client, or change a process."""


def cpu_seconds(*programs: str, python: str = sys.executable, repeats: int = REPEATS) -> list[float]:
    """Return the median CPU time of each program, user and system, with its children; they alternate."""
    found: dict[str, list[float]] = {program: [] for program in programs}
    for _ in range(repeats):
        for program in programs:
            before = _children_seconds()
            subprocess.run([python, "-c", program], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            found[program].append(_children_seconds() - before)
    return [median(found[program]) for program in programs]


def loaded_modules(program: str = OPENED) -> set[str]:
    """Return the modules that an interpreter has in addition, after a run was opened and has reported."""
    program = "import sys; before = set(sys.modules); " + program + "; print(*set(sys.modules) - before)"
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    return set(output.split())


def forbidden(modules: set[str]) -> set[str]:
    """Return those that a client must not load into a script."""
    return {name for name in modules if name.split(".")[0] in FORBIDDEN}


def resident_bytes() -> int:
    """Return the memory that an open run has added to a bare interpreter."""
    program = (
        "statm = lambda: int(open('/proc/self/statm').read().split()[1]) * 4096; before = statm(); "
        + OPENED
        + "; print(statm() - before)"
    )
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    return int(output)


def _children_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system
