"""The page of all kinds of condition, `docs/kinds.md`."""

from collections.abc import Iterator

from flyball_collector.diagnosis.kinds import KINDS, EventKind, Group

HEAD = """\
# Kinds of condition

These are all conditions that the diagnosis can report. The page is generated from the code
(`make generated`; a test keeps it up to date).
Background: [how each kind is recognised](explanation/detectors.md).

- A condition is *raised* after its entry level has held for the time in the column "raised after". It is *cleared*
  after its value has been below the exit level for the time in the column "cleared after". In between, it may *change*.
- The table shows the usual severity. A single condition may have a higher or lower one.
- A condition is not raised while a condition that *explains* it is active in the same place. If it is already active,
  it is cleared. Each problem is thus reported once, under its root cause.
- Bottlenecks of hosts and runs cost time (except `numa` and `interconnect`). Between two of these, the cause explains
  the effect unless the cause's score has been below a third of the effect's score for 10 s. Then both are active. The
  effect is cleared once the cause has had two thirds of its score for 30 s.
- To disable a condition, add its name to `diagnosis.disabled` in the collector's settings.
"""

TITLES = {
    Group.BOTTLENECK: "Bottlenecks: what limits the training",
    Group.RISK: "Risks: what will fail",
    Group.HEALTH: "Health: what is broken",
    Group.RUN: "Runs: what is slow or stuck",
    Group.DATA: "Data: what is missing or cannot be trusted",
}


def document() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(line for group in Group for line in _section(group))])


def _section(group: Group) -> Iterator[str]:
    yield f"## {TITLES[group]}\n"
    yield "| kind | scope | severity | meaning | raised after | cleared after | explained by |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_row(kind) for kind in KINDS if kind.group is group)
    yield ""


def _row(kind: EventKind) -> str:
    explained = ", ".join(f"`{name}`" for name in kind.explained_by)
    times = f"{kind.raise_after_seconds:g} s | {kind.clear_after_seconds:g} s"
    return f"| `{kind.name}` | {kind.scope} | {kind.severity.word} | {kind.meaning} | {times} | {explained} |"
