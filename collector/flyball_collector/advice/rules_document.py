"""Writes `docs/advice.md` from the rules: `python -m flyball_collector.advice.rules_document docs/advice.md`."""

import inspect
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from flyball_collector.advice.rule import Rule
from flyball_collector.advice.rules.catalogue import GROUPS

HEAD = """\
# Rules of advice

Everything that may be advised, generated from the rules
(`python -m flyball_collector.advice.rules_document docs/advice.md`; a test holds this page to it).
How advice comes about, how it is ranked and what it never does: [diagnosis](diagnosis.md#advice).

- A rule is asked where a condition of one of its [kinds](kinds.md) stands, and speaks if its own facts bear it out.
- *May be done by*: **A0** people only; **A1** also by a machine, where the run's policy allows it: it changes no result
  and can be taken back; **A2** only when the owner agrees, for it changes results, or interrupts.
- *Silent beside*: rules that say the same more precisely.
- Names may be put into `diagnosis.disabled` of the collector's settings; thresholds are in `diagnosis.advice`.
"""


def document() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for module in GROUPS for line in _section(module))])


def _section(module: ModuleType) -> Iterator[str]:
    title = (inspect.getdoc(module) or "").rstrip(".")
    yield f"## {title}\n"
    yield "| rule | speaks when | asked where stands | may be done by | effort | silent beside | sources |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_row(rule) for rule in module.RULES)
    yield ""


def _row(rule: Rule) -> str:
    kinds = ", ".join(f"`{kind}`" for kind in rule.kinds)
    leaves = ", ".join(f"`{leaf}`" for leaf in rule.leaves)
    consent = f"{rule.safety}, changes results" if rule.changes_results else rule.safety
    effort = rule.effort.name.lower()
    return f"| `{rule.name}` | {rule.about} | {kinds} | {consent} | {effort} | {leaves} | {rule.source} |"


def main(arguments: Sequence[str]) -> int:
    """Write the page to the file named, or print it."""
    if arguments:
        Path(arguments[0]).write_text(document(), encoding="utf-8")
    else:
        print(document(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
