"""The page of XIDs."""

from pathlib import Path

from flyball_collector.diagnosis.health.xid_catalogue import XIDS
from flyball_collector.diagnosis.health.xid_document import document, main

PAGE = Path(__file__).parents[4] / "docs/xids.md"


def test_the_page_is_fresh() -> None:
    """What is committed is what the table says now."""
    assert PAGE.read_text(encoding="utf-8") == document(), "run: make generated"


def test_every_code_has_one_row(tmp_path: Path) -> None:
    """Nothing is left out, also of the file."""
    assert main([str(tmp_path / "xids.md")]) == 0
    page = (tmp_path / "xids.md").read_text(encoding="utf-8")
    for xid in XIDS:
        assert page.count(f"\n| {xid.code} |") == 1, xid.code
