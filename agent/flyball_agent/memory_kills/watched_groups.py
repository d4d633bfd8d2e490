"""Watches the control groups of the trainings: a kill raises their counters, and shows whose limit was reached."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from flyball_agent.memory_kills.group_counters import (
    REACHED,
    GroupCounters,
    GroupHierarchy,
    LimitHits,
    chain_of,
    is_visible,
)
from flyball_agent.memory_kills.kill import KillSource, Limit, MemoryKill

MOST_GROUPS = 256
KEPT_TICKS = 10
"""A group is watched for this many readings after its last process, because the process may have been killed."""


@dataclass(slots=True)
class _Group:
    """One group: its files, the counts of the reading before, and what was added since."""

    files: GroupCounters
    kills: int | None
    hits: LimitHits
    limit_bytes: int | None
    left: int | None = None  # since which reading no process of a training is in it or below it
    holds: bool = False  # a process of a training was in it
    gone: bool = False
    more_kills: int = 0
    own_hit: bool = False
    hit_within: bool = False

    def count_kills(self) -> int:
        """Read the kills, and return how many are new."""
        now, before = self.files.kills(), self.kills
        self.gone = now is None and before is not None
        self.more_kills = grown(before, now)
        self.kills = before if now is None else now
        return self.more_kills

    def count_hits(self) -> None:
        """Read the hits of limits. They are needed only after a kill."""
        now = self.files.hits()
        self.own_hit = grown(self.hits.own, now.own) > 0
        self.hit_within = grown(self.hits.within, now.within) > 0
        if not self.gone:
            self.hits, self.limit_bytes = now, self.files.limit_bytes()

    @property
    def used_bytes(self) -> int | None:
        """The use at a kill: the highest one, which is at the limit."""
        peak = self.files.peak_bytes()
        return self.limit_bytes if peak is None or self.limit_bytes is None else min(peak, self.limit_bytes)

    @property
    def is_full(self) -> bool:
        """False if the limit cannot have led to a kill, although there were hits: version 1 counts them at any time."""
        peak = self.files.peak_bytes()
        return self.limit_bytes is not None and (peak is None or peak >= REACHED * self.limit_bytes)


@dataclass(slots=True)
class WatchedGroups:
    """The groups of the given processes and all groups around them."""

    hierarchy: GroupHierarchy
    _groups: dict[str, _Group] = field(default_factory=dict)
    _read_always: list[_Group] = field(default_factory=list)
    _paths: tuple[str, ...] = ()
    _reading: int = 0

    def update(self, paths: tuple[str, ...], *, look: bool = True) -> list[MemoryKill]:
        """Return the kills in the groups since the last look, and watch the groups of these paths from now on."""
        self._reading += 1
        kills = self._kills() if look and any(group.files.kills() != group.kills for group in self._read_always) else []
        old = [p for p, g in self._groups.items() if g.left is not None and self._reading - g.left > KEPT_TICKS]
        if old or paths != self._paths:
            self._paths = paths
            self._groups = {path: group for path, group in self._groups.items() if path not in old}
            self._watch(dict.fromkeys(each for path in paths if is_visible(path) for each in chain_of(path)))
        return kills

    def _watch(self, held: Mapping[str, None]) -> None:
        for path, group in self._groups.items():
            group.left = None if path in held else group.left or self._reading
        for path in list(held)[:MOST_GROUPS]:
            if path not in self._groups:
                files = self.hierarchy.counters(path)
                self._groups[path] = _Group(files, files.kills(), files.hits(), files.limit_bytes())
        for path in self._paths:
            if path in self._groups:
                self._groups[path].holds = True
        self._read_always = [group for path, group in self._groups.items() if self._counts_for_others(path, group)]

    def _counts_for_others(self, path: str, group: _Group) -> bool:
        """Return True if a group must be read at each tick.

        With version 1 each group counts its own kills. The outermost groups of version 2 count those of all.
        """
        if group.kills is None or not self.hierarchy.unified:
            return group.kills is not None and group.holds
        around = (self._groups.get(each) for each in chain_of(path)[1:])
        return all(outer is None or outer.kills is None for outer in around)

    def _kills(self) -> list[MemoryKill]:
        """Return one kill for each group whose own processes were killed, or those of a group below it."""
        raised = [path for path, group in self._groups.items() if group.count_kills()]
        if not raised:
            return []
        for group in self._groups.values():
            group.count_hits()
        return [self._kill(path) for path in raised if not any(is_below(other, path) for other in raised)]

    def _kill(self, path: str) -> MemoryKill:
        kills, source = self._groups[path].more_kills, self._groups[path].files.source
        limit, name = self._limit(path)
        group = self._groups.get(name)
        if group is None:
            return MemoryKill(limit, source, process_group=path, kills=kills)
        return MemoryKill(
            limit,
            source,
            group=name,
            limit_bytes=group.limit_bytes,
            used_bytes=group.used_bytes,
            process_group=name if group.gone else path,
            kills=kills,
        )

    def _limit(self, path: str) -> tuple[Limit, str]:
        """Return whose limit was reached, and its group as far as it is known."""
        around = [(each, self._groups[each]) for each in chain_of(path) if each in self._groups]
        for each, group in around:
            if group.own_hit and group.is_full:
                return Limit.GROUP, each
        for each, group in around:
            if group.hit_within:  # a limit below this group, or (without memory.events.local) its own
                exact = group.files.source is KillSource.GROUP_EVENTS
                return Limit.GROUP, self._vanished_below(each) or ("" if exact else each)
        return Limit.HOST, ""

    def _vanished_below(self, path: str) -> str:
        """Return a watched group below this one that has disappeared with its last process, as those of containers."""
        return next((p for p, g in self._groups.items() if g.gone and is_below(p, path)), "")


def grown(before: int | None, now: int | None) -> int:
    """Return the growth of a counter; 0 if it is not known or has restarted."""
    return max(0, now - before) if now is not None and before is not None else 0


def is_below(path: str, other: str) -> bool:
    """Return True if a group is inside another one."""
    return path.startswith(other.rstrip("/") + "/")
