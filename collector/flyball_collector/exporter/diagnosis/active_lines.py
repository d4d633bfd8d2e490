"""Lines of active conditions. Those of a group are made once, and kept while it is the same object."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from flyball_collector.diagnosis.kinds import Group, Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.exporter.diagnosis.snapshot import ConditionText, ExportedCondition

MAX_OF_KIND = 64
"""Maximum conditions of one kind for a host, because the names of mounts and interfaces come from the host."""

WITHOUT_READINGS = frozenset({"host_lost", "data_gap"})
"""Conditions that remain true of a host that does not report. All others disappear with its readings."""

Key = tuple[str, Severity, Subject, int | None]


Shown = TypeVar("Shown", ExportedCondition, ConditionText)


class GroupLines(NamedTuple):
    """The lines of a group."""

    lines: list[bytes]  # up to the value; equal ones after shortening are listed once
    risks: list[ExportedCondition]
    counts: Counter[tuple[str, Severity]]  # by host; including those beyond the maximum


class _Kept(NamedTuple):
    group: Sequence[ExportedCondition]
    hosts: frozenset[str]
    lines: dict[Key, bytes]
    all_lines: GroupLines


class ActiveLines:
    """A group has all conditions of a kind, or of a host."""

    def __init__(self, line: Callable[[ExportedCondition], bytes]) -> None:
        """Create a cache. `line` makes the line of a condition."""
        self._line = line
        self._kept: dict[str, _Kept] = {}  # by kind

    def groups(
        self,
        groups: Iterable[Sequence[ExportedCondition]],
        known: Collection[str],
        reporting: Collection[str],
        *,
        runs: bool,
    ) -> list[GroupLines]:
        """Return conditions of `reporting` hosts, those of `known` hosts that need no readings, and those of runs."""
        before, self._kept = self._kept, {}
        subjects = frozenset(reporting) | frozenset([""] if runs else [])  # a run has no host
        return [self._of(group, before, known, subjects) for group in groups if group]

    def _of(
        self,
        group: Sequence[ExportedCondition],
        before: Mapping[str, _Kept],
        known: Collection[str],
        reporting: frozenset[str],
    ) -> GroupLines:
        kind = group[0].kind.name
        kept = before.get(kind)
        if kept is None or kept.group is not group:
            kept = self._make(group, {} if kept is None else kept.lines)
        self._kept[kind] = kept
        if kept.hosts <= reporting:
            return kept.all_lines
        return _show([each for each in group if is_shown(each, known, reporting)], kept.lines)

    def _make(self, group: Sequence[ExportedCondition], before: Mapping[Key, bytes]) -> _Kept:
        hosts = frozenset(each.subject.host for each in group)
        lines = {key: before.get(key) or self._line(each) for key, each in zip(map(_key, group), group, strict=True)}
        return _Kept(group, hosts, lines, _show(group, lines))


def _key(active: ExportedCondition) -> Key:
    return active.kind.name, active.severity, active.subject, active.gpu_index


def is_shown(active: ExportedCondition | ConditionText, known: Collection[str], reporting: frozenset[str]) -> bool:
    """Return True if a condition of this subject has series now."""
    host = active.subject.host
    return host in reporting or (bool(host) and host in known and active.kind.name in WITHOUT_READINGS)


def _show(active: Sequence[ExportedCondition], lines: Mapping[Key, bytes]) -> GroupLines:
    shown = list(limited(active))
    return GroupLines(
        list(dict.fromkeys(lines[_key(each)] for each in shown)),
        [each for each in shown if each.kind.group is Group.RISK],
        Counter((each.subject.host, each.severity) for each in active),
    )


def limited(active: Iterable[Shown]) -> Iterator[Shown]:
    """Yield at most `MAX_OF_KIND` conditions of each kind and host."""
    counts: Counter[tuple[str, str]] = Counter()
    for each in active:
        of = each.subject.host, each.kind.name
        counts[of] += 1
        if counts[of] <= MAX_OF_KIND:
            yield each
