"""The generated page of XIDs."""

from flyball_collector.diagnosis.health.xid_catalogue import XIDS
from flyball_collector.diagnosis.health.xid_document import document


def test_every_code_has_one_row() -> None:
    """No code is missing."""
    page = document()
    for xid in XIDS:
        assert page.count(f"\n| {xid.code} |") == 1, xid.code
