"""The generated page of kinds."""

from pathlib import Path

from flyball_collector.diagnosis.kinds import KINDS
from flyball_collector.diagnosis.kinds_document import document

PAGE = Path(__file__).parents[3] / "docs/kinds.md"


def test_the_page_is_up_to_date() -> None:
    """The committed page equals the generated one."""
    assert PAGE.read_text(encoding="utf-8") == document(), "run: make generated"


def test_every_kind_has_one_row() -> None:
    """No kind is missing."""
    page = document()
    for kind in KINDS:
        assert page.count(f"\n| `{kind.name}` |") == 1, kind.name
