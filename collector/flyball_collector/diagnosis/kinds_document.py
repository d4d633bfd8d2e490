"""Writes `docs/kinds.md` from the list: `python -m flyball_collector.diagnosis.kinds_document docs/kinds.md`."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from flyball_collector.diagnosis.kinds import KINDS, EventKind, Group

HEAD = """\
# Kinds of condition

Everything that the diagnosis can say: the closed list, generated from the code that says it
(`python -m flyball_collector.diagnosis.kinds_document docs/kinds.md`; a test holds this page to it).
How each is recognised, and what it does not see: [diagnosis](diagnosis.md).

- A condition is *raised* when its entry level has held for the time in the column, and *cleared* when its exit level
  has been left for the other. While it stands it may *change*.
- The severity is the usual one; what a single condition has may be higher or lower, and says so.
- A condition is not raised, and ends, while one that *explains* it stands at the same place. Of two bottlenecks that
  cost time (those of hosts and runs without `numa` and `interconnect`) the one explains the other only while its score
  is not clearly smaller: not below a third for 10 s. Where both stand, the cause ends the effect when it has had two
  thirds of its score for half a minute.
- Names may be put into `diagnosis.disabled` of the collector's settings.
"""

TITLES = {
    Group.BOTTLENECK: "Bottlenecks: what bounds the training",
    Group.RISK: "Risks: what will break it",
    Group.HEALTH: "Health: what is broken",
    Group.RUN: "Runs: what does not go as it did",
    Group.DATA: "Data: what we cannot see",
}


def document() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for group in Group for line in _section(group))])


def _section(group: Group) -> Iterator[str]:
    yield f"## {TITLES[group]}\n"
    yield "| kind | of a | severity | meaning | raised after | cleared after | explained by |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_row(kind) for kind in KINDS if kind.group is group)
    yield ""


def _row(kind: EventKind) -> str:
    explained = ", ".join(f"`{name}`" for name in kind.explained_by)
    times = f"{kind.raise_after_seconds:g} s | {kind.clear_after_seconds:g} s"
    return f"| `{kind.name}` | {kind.scope} | {kind.severity.word} | {kind.meaning} | {times} | {explained} |"


def main(arguments: Sequence[str]) -> int:
    """Write the page to the file named, or print it."""
    if arguments:
        Path(arguments[0]).write_text(document(), encoding="utf-8")
    else:
        print(document(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
