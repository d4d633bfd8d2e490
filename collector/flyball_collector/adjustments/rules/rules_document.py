"""The page of all rules of adjustments, `docs/adjustment-rules.md`."""

import inspect
from collections.abc import Iterator
from types import ModuleType

from flyball_collector.adjustments.rules.catalogue import GROUPS
from flyball_collector.adjustments.rules.rule import AdjustmentRule

HEAD = """\
# Rules of adjustments

These are all rules by which Flyball proposes to change a running training. The page is generated from the code
(`make generated`; a test keeps it up to date).
Background: [how Flyball decides what to change](explanation/adjustments.md).

- *Lever*: the standard change. A rule is evaluated for each value of a run that all its ranks declare as this lever.
- *Evidence*: what must be true, and for how many seconds without a break, before the change is proposed.
- *Class*: the lowest class of safety. **1**: no effect on results. **2**: equal results under conditions that are
  checked. **3**: numerical results change. **4**: the run is interrupted. The policy of the run and the operator's
  settings decide which classes need a person; 3 and 4 always do.
- *Judged by*: the effect of a change for *speed* is measured, and it is taken back if it does harm. A change that
  *protects* the run from a failure or a slowdown may cost speed, and does not wait for the pause between changes.
- To disable a lever, add its name to `adjustments.disabled_levers` in the collector's settings.
"""


def document() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(line for module in GROUPS for line in _section(module))])


def _section(module: ModuleType) -> Iterator[str]:
    title = (inspect.getdoc(module) or "").rstrip(".")
    yield f"## {title}\n"
    yield "| rule | lever | evidence | for | change | inverse | class | judged by | sources |"
    yield "|---|---|---|---|---|---|---|---|---|"
    yield from (_row(rule) for rule in module.RULES)
    yield ""


def _row(rule: AdjustmentRule) -> str:
    judged = "what it protects from" if rule.protects else "speed"
    held = f"{rule.hold_seconds:g} s" if rule.hold_seconds else "at once"
    cells = (f"`{rule.name}`", f"`{rule.lever}`", rule.evidence, held, rule.change, rule.inverse, str(rule.safety))
    return f"| {' | '.join((*cells, judged, rule.source))} |"
