"""The page of rules."""

from pathlib import Path

from flyball_collector.advice.rules.catalogue import RULES
from flyball_collector.advice.rules_document import document, main

PAGE = Path(__file__).parents[3] / "docs/advice.md"


def test_the_page_is_fresh() -> None:
    """What is committed is what the rules say now."""
    assert PAGE.read_text(encoding="utf-8") == document(), "run: make generated"


def test_every_rule_has_one_row(tmp_path: Path) -> None:
    """Nothing is left out, also of the file."""
    assert main([str(tmp_path / "advice.md")]) == 0
    page = (tmp_path / "advice.md").read_text(encoding="utf-8")
    for rule in RULES:
        assert page.count(f"\n| `{rule.name}` |") == 1, rule.name
