"""The page of the audit, and its examples."""

import ast
import re
from pathlib import Path

import pytest

from flyball_audit.document import page
from flyball_audit.evidence import load_evidence, read_evidence
from flyball_audit.facts import BEARINGS, FACTS
from flyball_audit.manual import MEASURED
from flyball_audit.review import KNOWN_RULES
from flyball_audit.rule import Rule
from flyball_audit.rules import RULES
from flyball_audit.settings import load_settings

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "audit"


def test_every_rule_has_its_section_and_every_fact_its_row() -> None:
    """And no name stands twice."""
    text = page()
    assert len({each.id for each in RULES}) == len(RULES)
    for rule in RULES:
        assert text.count(f"\n### {rule.id}\n") == 1
    for fact in FACTS:
        assert text.count(f"\n| `{fact.name}` |") == 1


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_what_a_rule_shows_is_python(rule: Rule) -> None:
    """Before and after can be read, and differ."""
    for text in (rule.before, rule.after):
        ast.parse(text)
    assert rule.before != rule.after


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_gain_has_an_address_or_is_called_an_estimate(rule: Rule) -> None:
    """Nobody has to believe a figure whose place is not told."""
    if rule.gain is None or rule.gain.up_to <= 1:
        return
    told = re.search(rf"(?<![\d.]){rule.gain.up_to:g}(×| times)", rule.expected)
    assert told is not None
    assert "https://" in rule.source or "by our estimate" in rule.expected


def test_facts_bear_on_rules_that_there_are() -> None:
    """A name that no rule has would never be weighed."""
    assert {rule for each in BEARINGS for rule in each.rules} <= set(KNOWN_RULES)


def test_the_examples_are_taken() -> None:
    """Whoever copies them has settings and facts."""
    settings = load_settings(EXAMPLES / "flyball-audit.toml", KNOWN_RULES)
    assert settings is not None
    assert settings.evidence is not None
    evidence = load_evidence(settings.evidence)
    assert evidence.facts["data_wait_ratio"].value == 0.31
    assert evidence.facts["tensor_active_ratio"].on.startswith("one minute")
    shown = MEASURED.split("```yaml\n")[1].split("```")[0]
    assert read_evidence(shown).facts["gpu_busy_ratio"].value == 0.62
