"""Writes `docs/audit.md` from the rules: `python -m flyball_audit.document docs/audit.md`."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from flyball_audit.facts import BEARINGS, FACTS, Bearing, Fact, Verdict
from flyball_audit.manual import FIXES, GAINS, HEAD, LIMITS, MEASURED
from flyball_audit.rule import Rule
from flyball_audit.rules import RULES
from flyball_audit.settings import KEYS

VERDICTS = {Verdict.CONFIRM: "confirms", Verdict.LOWER: "lowers", Verdict.WITHDRAW: "withdraws"}


def page(rules: Sequence[Rule] = RULES) -> str:
    """The whole page."""
    ordered = sorted(rules, key=lambda each: each.id)
    parts = (
        HEAD,
        _table(("key", "expected", "meaning"), ((f"`{key.name}`", key.reader.expected, key.meaning) for key in KEYS)),
        FIXES,
        MEASURED,
        _table(("fact", "meaning", "says of findings"), map(_fact, FACTS)),
        GAINS,
        LIMITS,
        _overview(ordered),
        *map(_rule, ordered),
    )
    return "\n".join(parts)


def _fact(fact: Fact) -> tuple[str, ...]:
    told = "; ".join(_bearing(each) for each in BEARINGS if each.fact == fact.name)
    return (f"`{fact.name}`", fact.meaning, told or "nothing by itself: a share for the estimate")


def _bearing(bearing: Bearing) -> str:
    rules = ", ".join(f"`{rule}`" for rule in bearing.rules)
    return f"{_side(bearing)} {VERDICTS[bearing.verdict]} {rules} ({bearing.source})"


def _side(bearing: Bearing) -> str:
    if bearing.at_least is not None:
        return f"from {bearing.at_least:g} on"
    return f"below {bearing.below:g}"


def _overview(rules: Iterable[Rule]) -> str:
    rows = [
        (f"[`{each.id}`](#{each.id})", each.severity.value, each.summary, _up_to(each), "safe" if each.safe_fix else "")
        for each in rules
    ]
    return "## Rules\n\n" + _table(("rule", "usually", "finds", "up to", "`--fix`"), rows)


def _up_to(rule: Rule) -> str:
    return f"{rule.gain.up_to:g}×" if rule.gain and rule.gain.up_to > 1 else ""


def _rule(rule: Rule) -> str:
    return "\n".join(_lines(rule))


def _lines(rule: Rule) -> Iterator[str]:
    yield f"### {rule.id}\n"
    yield f"*{rule.severity.value}* · {rule.summary} {rule.cause}\n"
    yield f"- **Change**: {rule.change}"
    yield f"- **Expected**: {rule.expected} ({rule.source})"
    if rule.safe_fix:
        yield "- **`--fix`** mends it where the change is certain to leave results as they are."
    yield from (
        f"- **Measured**: `{each.fact}` {_side(each)} {VERDICTS[each.verdict]} it."
        for each in BEARINGS
        if rule.id in each.rules
    )
    yield f"\n```python\n# before\n{rule.before}\n\n# after\n{rule.after}\n```\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
