"""The generated page of rules."""

from pathlib import Path

from flyball_collector.advice.rules.catalogue import RULES
from flyball_collector.advice.rules_document import document, main

PAGE = Path(__file__).parents[3] / "docs/advice.md"


def test_the_page_is_up_to_date() -> None:
    """The committed page equals the generated one."""
    assert PAGE.read_text(encoding="utf-8") == document(), "run: make generated"


def test_every_rule_has_one_row(tmp_path: Path) -> None:
    """No rule is missing, on the page and in the file."""
    assert main([str(tmp_path / "advice.md")]) == 0
    page = (tmp_path / "advice.md").read_text(encoding="utf-8")
    for rule in RULES:
        assert page.count(f"\n| `{rule.name}` |") == 1, rule.name
