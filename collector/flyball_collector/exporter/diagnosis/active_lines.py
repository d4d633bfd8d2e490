"""Conditions that stand as lines: those of a group are made once, and kept while it is the same object."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from flyball_collector.diagnosis.kinds import Group, Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.exporter.diagnosis.snapshot import ExportedCondition

MAX_OF_KIND = 64
"""Conditions of one kind that a host may show: mounts and interfaces are its own word."""

OF_SILENT_HOSTS = frozenset({"host_lost", "data_gap"})
"""What is still true of a host that says nothing; everything else leaves with its readings."""

Key = tuple[str, Severity, Subject]


class Shown(NamedTuple):
    """What is to be said of a group."""

    lines: list[bytes]  # up to the value; what looks the same after it was cut to its length comes once
    risks: list[ExportedCondition]
    counts: Counter[tuple[str, Severity]]  # by host; also of those that are too many to be shown


class _Kept(NamedTuple):
    group: Sequence[ExportedCondition]
    hosts: frozenset[str]
    lines: dict[Key, bytes]
    whole: Shown


class ActiveLines:
    """A group holds all conditions of a kind, or of a host."""

    def __init__(self, line: Callable[[ExportedCondition], bytes]) -> None:
        """`line` makes that of a condition."""
        self._line = line
        self._kept: dict[str, _Kept] = {}  # by kind

    def shown(
        self,
        groups: Iterable[Sequence[ExportedCondition]],
        known: Collection[str],
        heard: Collection[str],
        *,
        runs: bool,
    ) -> list[Shown]:
        """Conditions of hosts that are `heard` of, of `known` ones what silence does not end, and of runs."""
        before, self._kept = self._kept, {}
        listening = frozenset(heard) | frozenset([""] if runs else [])  # a run has no host
        return [self._of(group, before, known, listening) for group in groups if group]

    def _of(
        self,
        group: Sequence[ExportedCondition],
        before: Mapping[str, _Kept],
        known: Collection[str],
        heard: frozenset[str],
    ) -> Shown:
        kind = group[0].kind.name
        kept = before.get(kind)
        if kept is None or kept.group is not group:
            kept = self._make(group, {} if kept is None else kept.lines)
        self._kept[kind] = kept
        if kept.hosts <= heard:
            return kept.whole
        return _show([each for each in group if _is_shown(each, known, heard)], kept.lines)

    def _make(self, group: Sequence[ExportedCondition], before: Mapping[Key, bytes]) -> _Kept:
        hosts = frozenset(each.subject.host for each in group)
        lines = {key: before.get(key) or self._line(each) for key, each in zip(map(_key, group), group, strict=True)}
        return _Kept(group, hosts, lines, _show(group, lines))


def _key(active: ExportedCondition) -> Key:
    return active.kind.name, active.severity, active.subject


def _is_shown(active: ExportedCondition, known: Collection[str], heard: frozenset[str]) -> bool:
    host = active.subject.host
    return host in heard or (bool(host) and host in known and active.kind.name in OF_SILENT_HOSTS)


def _show(active: Sequence[ExportedCondition], lines: Mapping[Key, bytes]) -> Shown:
    bounded = list(_bounded(active))
    return Shown(
        list(dict.fromkeys(lines[_key(each)] for each in bounded)),
        [each for each in bounded if each.kind.group is Group.RISK],
        Counter((each.subject.host, each.severity) for each in active),
    )


def _bounded(active: Iterable[ExportedCondition]) -> Iterator[ExportedCondition]:
    counts: Counter[tuple[str, str]] = Counter()
    for each in active:
        of = each.subject.host, each.kind.name
        counts[of] += 1
        if counts[of] <= MAX_OF_KIND:
            yield each
