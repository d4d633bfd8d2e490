"""Measure how much CPU went to other work; an episode that ran beside other load proves nothing."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class CpuUse:
    """CPU seconds so far: of every process of the machine, and of one process with its descendants."""

    at: float
    machine: float
    own: float


def cpu_use(proc: Path = Path("/proc"), root: int | None = None) -> CpuUse:
    """As of now; what interrupts take is nobody's."""
    user, nice, system = (int(word) for word in (proc / "stat").read_text().split("\n", 1)[0].split()[1:4])
    own = sum(_of_family(proc, os.getpid() if root is None else root))
    return CpuUse(time.monotonic(), (user + nice + system) / TICKS_PER_SECOND, own / TICKS_PER_SECOND)


def others_ratio(before: CpuUse, after: CpuUse, cores: int) -> float:
    """Share of all cores that went to others."""
    used = (after.machine - before.machine) - (after.own - before.own)
    return max(0.0, used / ((after.at - before.at) * cores))


def _of_family(proc: Path, root: int) -> Iterator[int]:
    """Ticks of each process of a tree; of children that have ended, their parents know."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in proc.iterdir():
        if not path.name.isdigit():
            continue
        try:
            words = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[int(path.name)] = int(words[1])
        ticks[int(path.name)] = sum(int(word) for word in words[11:15])  # user, system, children's user, system
    for process, count in ticks.items():
        ancestor = process
        while ancestor not in {root, 0} and ancestor in parents:
            ancestor = parents[ancestor]
        if ancestor == root:
            yield count
