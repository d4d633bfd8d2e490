"""The generated page of rules."""

from flyball_collector.advice.rules.catalogue import RULES
from flyball_collector.advice.rules_document import document


def test_every_rule_has_one_row() -> None:
    """No rule is missing."""
    page = document()
    for rule in RULES:
        assert page.count(f"\n| `{rule.name}` |") == 1, rule.name
