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

- *Conditions*: a rule is evaluated while a condition of one of these [kinds](kinds.md) is active on the host or run. It
  gives advice if the measured facts support it.
- *Safety*: who may make the change. Flyball only gives advice; the classes are for people and for tools that act on it.
  - **A0**: only a person.
  - **A1**: a tool too, if the run's owner allows it in general. The change does not affect results and can be undone.
  - **A2**: a tool only if the run's owner agrees to this change. It affects results or interrupts the run.
  - *changes results*: the trained model may differ, for example because the batch size or the precision changes.
- *Effort*: what must be changed: a `setting` (about 1 hour), `code` (2 hours), a `rework` of code or data (4 hours), or
  `hardware` (8 hours).
- *Yields to*: more specific rules. If one of them applies, only that one gives advice.
- To disable a rule, add its name to `diagnosis.disabled` in the collector's settings. The thresholds are in
  [`diagnosis.advice`](configuration.md#diagnosisadvice).
"""


def document() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(line for module in GROUPS for line in _section(module))])


def _section(module: ModuleType) -> Iterator[str]:
    title = (inspect.getdoc(module) or "").rstrip(".")
    yield f"## {title}\n"
    yield "| rule | problem | conditions | safety | effort | yields to | sources |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_row(rule) for rule in module.RULES)
    yield ""


def _row(rule: Rule) -> str:
    kinds = ", ".join(f"`{kind}`" for kind in rule.kinds)
    yields_to = ", ".join(f"`{name}`" for name in rule.yields_to)
    consent = f"{rule.safety}, changes results" if rule.changes_results else rule.safety
    effort = rule.effort.name.lower()
    return f"| `{rule.name}` | {rule.description} | {kinds} | {consent} | {effort} | {yields_to} | {rule.source} |"
