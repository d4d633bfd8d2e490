"""Reads the counters of a control group's memory that show a kill, of either version."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from flyball_agent.memory_kills.kill import KillSource
from flyball_agent.probes.files import KernelFile, count, number_after

UNLIMITED = 1 << 60  # version 1 writes "no limit" as the largest number of whole pages
REACHED = 0.95
"""A group's highest use is at its limit from this share on: a large page may not fit into the rest."""


@dataclass(frozen=True, slots=True)
class LimitHits:
    """The number of times that limits led to a kill. `None` is unknown, also when the group no longer exists."""

    own: int | None  # the limit of this group
    within: int | None  # the limit of this group or of one below it


class GroupCounters(Protocol):
    """The counters and the limit of one group."""

    source: KillSource

    def kills(self) -> int | None:
        """Return the number of kills. This is read at each tick."""
        ...

    def hits(self) -> LimitHits:
        """Return how often the limit of this group, and not of one around it, led to a kill."""
        ...

    def limit_bytes(self) -> int | None:
        """Return the limit, or None if there is none."""
        ...

    def peak_bytes(self) -> int | None:
        """Return the highest use so far."""
        ...


class GroupCountersV2:
    """The unified hierarchy. `memory.events` counts the groups below as well, `memory.events.local` does not."""

    def __init__(self, folder: Path) -> None:
        self._events = KernelFile(folder / "memory.events", size=512)
        self._local = KernelFile(folder / "memory.events.local", size=512)
        self._limit = KernelFile(folder / "memory.max", size=64)
        self._peak = KernelFile(folder / "memory.peak", size=64)  # since Linux 5.19
        has_local = (folder / "memory.events.local").exists()  # since Linux 5.2
        self.source = KillSource.GROUP_EVENTS if has_local else KillSource.GROUP_COUNTS

    def kills(self) -> int | None:
        return number_after(b"\n" + self._events.read_optional(), b"\noom_kill ")

    def hits(self) -> LimitHits:
        own, within = (number_after(b"\n" + file.read_optional(), b"\noom ") for file in (self._local, self._events))
        return LimitHits(own, within)

    def limit_bytes(self) -> int | None:
        return count(self._limit.read_optional())

    def peak_bytes(self) -> int | None:
        return count(self._peak.read_optional())


class GroupCountersV1:
    """The memory hierarchy of version 1. A kill counts at the group of the process, and a hit at the limit's group.

    Hits also count where the page cache was shrunk at the limit.
    """

    source = KillSource.GROUP_COUNTS

    def __init__(self, folder: Path) -> None:
        self._kills = KernelFile(folder / "memory.oom_control", size=256)  # counts since Linux 4.13
        self._hits = KernelFile(folder / "memory.failcnt", size=64)
        self._hits_with_swap = KernelFile(folder / "memory.memsw.failcnt", size=64)
        self._limit = KernelFile(folder / "memory.limit_in_bytes", size=64)
        self._peak = KernelFile(folder / "memory.max_usage_in_bytes", size=64)

    def kills(self) -> int | None:
        return number_after(b"\n" + self._kills.read_optional(), b"\noom_kill ")

    def hits(self) -> LimitHits:
        """Return the hits of the limits of memory, and of memory and swap together."""
        hits = count(self._hits.read_optional())
        both = None if hits is None else hits + (count(self._hits_with_swap.read_optional()) or 0)
        return LimitHits(both, None)

    def limit_bytes(self) -> int | None:
        limit = count(self._limit.read_optional())
        return None if limit is None or limit >= UNLIMITED else limit

    def peak_bytes(self) -> int | None:
        return count(self._peak.read_optional())


class GroupHierarchy:
    """Finds the groups of processes: in the unified hierarchy, or in that of the memory controller of version 1."""

    def __init__(self, sys_root: Path) -> None:
        mount = sys_root / "fs/cgroup"
        self.unified = (mount / "cgroup.controllers").exists()
        self._mount = mount if self.unified else mount / "memory"
        self.controller = "" if self.unified else "memory"

    @property
    def present(self) -> bool:
        """True if the kernel counts the memory of groups."""
        return self.unified or self._mount.is_dir()

    def counters(self, path: str) -> GroupCounters:
        """Return the counters of a group."""
        folder = self._mount.joinpath(*parts_of(path))
        return GroupCountersV2(folder) if self.unified else GroupCountersV1(folder)


def parts_of(path: str) -> list[str]:
    """Return the names in a group's path."""
    return [part for part in path.split("/") if part]


def is_visible(path: str) -> bool:
    """Return True if a path is that of a group below the agent's view, and not around its container."""
    return path.startswith("/") and ".." not in parts_of(path) and "\0" not in path


def chain_of(path: str) -> tuple[str, ...]:
    """Return a group and the groups around it, innermost first, without the root, which limits nothing."""
    parts = parts_of(path)
    return tuple("/" + "/".join(parts[:length]) for length in range(len(parts), 0, -1))
