"""The generated page of kinds."""

from flyball_collector.diagnosis.kinds import KINDS
from flyball_collector.diagnosis.kinds_document import document


def test_every_kind_has_one_row() -> None:
    """No kind is missing."""
    page = document()
    for kind in KINDS:
        assert page.count(f"\n| `{kind.name}` |") == 1, kind.name
