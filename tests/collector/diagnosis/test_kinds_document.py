"""The page of kinds."""

from pathlib import Path

from flyball_collector.diagnosis.kinds import KINDS
from flyball_collector.diagnosis.kinds_document import document

PAGE = Path(__file__).parents[3] / "docs/kinds.md"


def test_the_page_is_fresh() -> None:
    """What is committed is what the list says now."""
    assert PAGE.read_text(encoding="utf-8") == document(), "run: make generated"


def test_every_kind_has_one_row() -> None:
    """Nothing is left out."""
    page = document()
    for kind in KINDS:
        assert page.count(f"\n| `{kind.name}` |") == 1, kind.name
