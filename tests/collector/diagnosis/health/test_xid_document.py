"""The generated page of XIDs."""

from pathlib import Path

from flyball_collector.diagnosis.health.xid_catalogue import XIDS
from flyball_collector.diagnosis.health.xid_document import document, main

PAGE = Path(__file__).parents[4] / "docs/xids.md"


def test_the_page_is_up_to_date() -> None:
    """The committed page equals the generated one."""
    assert PAGE.read_text(encoding="utf-8") == document(), "run: make generated"


def test_every_code_has_one_row(tmp_path: Path) -> None:
    """No code is missing, on the page and in the file."""
    assert main([str(tmp_path / "xids.md")]) == 0
    page = (tmp_path / "xids.md").read_text(encoding="utf-8")
    for xid in XIDS:
        assert page.count(f"\n| {xid.code} |") == 1, xid.code
