"""The page of all kinds of condition, `docs/kinds.md`."""

from collections.abc import Iterable, Iterator

from flyball_collector.diagnosis.kinds import (
    FAILURES,
    INPUT_BOTTLENECKS,
    KINDS,
    MEMORY_BOTTLENECKS,
    SLOWDOWNS,
    EventKind,
    Group,
)

HEAD = """\
# Kinds of condition

These are all conditions that the diagnosis can report. The page is generated from the code
(`make generated`; a test keeps it up to date).
The thresholds of each kind are in [how each kind is recognised](explanation/detectors.md).

- *Scope*: what a condition is about. A `resource` is a memory, file system, port or interface of a host.
- *Severity*: the usual one. A single condition may be more or less severe.
- *Raised after*: how long the entry threshold must be exceeded before the condition is raised.
- *Cleared after*: how long the value must stay below the exit threshold before the condition is cleared. In between, a
  clear change of severity, confidence or time left is reported as an event *changed*.
- *Explained by*: the possible root causes. While one of them is active for the same host, GPU or run, the condition is
  not raised, and it is cleared if it was active. So each problem is reported once, under its root cause.
- A small cause does not explain a large effect. So bottlenecks of hosts and runs (except `bottleneck_numa` and
  `bottleneck_interconnect`) are compared by their [scores](explanation/detectors.md#bottlenecks). If the effect's score
  has been more than three times the cause's score for 10 s, the effect is raised in addition to its cause. It is
  cleared when the cause's score has been at least two thirds of the effect's score for 30 s.
- *Peers* are GPUs of one model: in the same run, or else on the same host, or else in the fleet.
- To disable a kind, add its name to `diagnosis.disabled` in the collector's settings.
"""

TITLES = {
    Group.BOTTLENECK: "Bottlenecks: what limits the training",
    Group.RISK: "Risks: what will fail",
    Group.HEALTH: "Health: what is broken",
    Group.RUN: "Runs: what is slow or stuck",
    Group.DATA: "Data: what is missing or cannot be trusted",
}

CAUSES = {
    "failures": FAILURES,
    "slowdowns": SLOWDOWNS,
    "memory bottlenecks": MEMORY_BOTTLENECKS,
    "input bottlenecks": INPUT_BOTTLENECKS,
}
"""Names for sets of causes that many kinds have in common."""


def document() -> str:
    """Return the whole page."""
    return "\n".join([HEAD + _legend(), *(line for group in Group for line in _section(group))])


def _legend() -> str:
    groups = [f"  - *{title}*: {_names(kinds)}" for title, kinds in CAUSES.items()]
    return "\n".join(["- The column *explained by* uses these groups:", *groups, ""])


def _section(group: Group) -> Iterator[str]:
    yield f"## {TITLES[group]}\n"
    yield "| kind | scope | severity | meaning | raised after | cleared after | explained by |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_row(kind) for kind in KINDS if kind.group is group)
    yield ""


def _row(kind: EventKind) -> str:
    times = f"{kind.raise_after_seconds:g} s | {kind.clear_after_seconds:g} s"
    return f"| `{kind.name}` | {kind.scope} | {kind.severity.word} | {kind.meaning} | {times} | {_causes(kind)} |"


def _causes(kind: EventKind) -> str:
    """List the causes of a kind; a group that is complete is listed by its name."""
    whole = {title: kinds for title, kinds in CAUSES.items() if set(kinds) <= set(kind.explained_by)}
    grouped = {name for kinds in whole.values() for name in kinds}
    single = [name for name in kind.explained_by if name not in grouped]
    return ", ".join([*(f"*{title}*" for title in whole), *([_names(single)] if single else [])])


def _names(kinds: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in kinds)
