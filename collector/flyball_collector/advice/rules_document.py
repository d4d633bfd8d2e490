"""The page of all rules of advice, `docs/advice.md`."""

import inspect
from collections.abc import Iterator
from types import ModuleType

from flyball_collector.advice.rule import Rule
from flyball_collector.advice.rules.catalogue import GROUPS

HEAD = """\
# Rules of advice

These are all rules of advice. The page is generated from the code
(`make generated`; a test keeps it up to date).
Background: [how advice is made](explanation/advice.md).

- A rule is evaluated where a condition of one of its [kinds](kinds.md) is active. It gives advice if the facts of the
  host or run support it.
- *Allowed for*: **A0** people only; **A1** also for a machine if the run's policy allows it: the change affects no
  results and can be undone; **A2** only with the owner's consent: the change affects results, or interrupts the run.
- *Yields to*: more specific rules, which replace this one.
- To disable a rule, add its name to `diagnosis.disabled` in the collector's settings. Thresholds are in
  `diagnosis.advice`.
"""


def document() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(line for module in GROUPS for line in _section(module))])


def _section(module: ModuleType) -> Iterator[str]:
    title = (inspect.getdoc(module) or "").rstrip(".")
    yield f"## {title}\n"
    yield "| rule | problem | conditions | allowed for | effort | yields to | sources |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_row(rule) for rule in module.RULES)
    yield ""


def _row(rule: Rule) -> str:
    kinds = ", ".join(f"`{kind}`" for kind in rule.kinds)
    yields_to = ", ".join(f"`{name}`" for name in rule.yields_to)
    consent = f"{rule.safety}, changes results" if rule.changes_results else rule.safety
    effort = rule.effort.name.lower()
    return f"| `{rule.name}` | {rule.description} | {kinds} | {consent} | {effort} | {yields_to} | {rule.source} |"
