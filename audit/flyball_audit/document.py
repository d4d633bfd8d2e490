"""The page of the audit, `docs/audit.md`, from its rules."""

from collections.abc import Iterable, Iterator, Sequence

from flyball_audit.facts import BEARINGS, FACTS, Bearing, Fact, Verdict
from flyball_audit.manual import GAINS, HEAD, LIMITS, MEASURED, SETTINGS, SUPPRESSING
from flyball_audit.rule import Rule
from flyball_audit.rules import RULES
from flyball_audit.settings import KEYS

VERDICTS = {Verdict.CONFIRM: "confirms", Verdict.LOWER: "lowers", Verdict.WITHDRAW: "withdraws"}


FACTS_HEAD = "In brackets: who published the threshold, or why it holds.\n"
RULES_HEAD = """\
*Gain up to* is the largest factor by which a source saw the step, or the part named in the rule, become faster. If it
is empty, there is no published figure, or the rule saves memory or failed runs. *safe*: `--fix` writes the change.
"""


def page(rules: Sequence[Rule] = RULES) -> str:
    """The whole page."""
    ordered = sorted(rules, key=lambda each: each.id)
    keys = ((f"`{key.name}`", key.reader.expected, key.meaning) for key in KEYS)
    parts = (
        HEAD.rstrip("\n"),
        MEASURED,
        GAINS,
        SUPPRESSING,
        SETTINGS,
        _table(("key", "expected", "meaning"), keys),
        LIMITS,
        f"## Measured facts\n\n{FACTS_HEAD}",
        _table(("fact", "meaning", "effect on findings"), map(_fact, FACTS)),
        _overview(ordered),
        *map(_rule, ordered),
    )
    return "\n".join(parts)


def _fact(fact: Fact) -> tuple[str, ...]:
    effects = "<br>".join(_bearing(each) for each in BEARINGS if each.fact == fact.name)
    return (f"`{fact.name}`", fact.meaning, effects or "none; the share is used for the estimated gain")


def _bearing(bearing: Bearing) -> str:
    rules = ", ".join(f"`{rule}`" for rule in bearing.rules)
    return f"{_side(bearing)}: {VERDICTS[bearing.verdict]} {rules} ({bearing.source})"


def _side(bearing: Bearing) -> str:
    if bearing.at_least is not None:
        return f"at least {bearing.at_least:g}"
    return f"below {bearing.below:g}"


def _overview(rules: Iterable[Rule]) -> str:
    rows = [
        (f"[`{each.id}`](#{each.id})", each.severity.value, each.summary, _up_to(each), "safe" if each.safe_fix else "")
        for each in rules
    ]
    return f"## Rules\n\n{RULES_HEAD}\n" + _table(("rule", "usual severity", "finding", "gain up to", "`--fix`"), rows)


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
        yield "- **Fix**: `--fix` writes the change if it keeps results the same."
    yield from (
        f"- **Measured**: `{each.fact}` {_side(each)} {VERDICTS[each.verdict]} the finding."
        for each in BEARINGS
        if rule.id in each.rules
    )
    yield f"\n```python\n# before\n{rule.before}\n\n# after\n{rule.after}\n```\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"
