"""Compare the documentation of calibration with the columns that are read."""

from pathlib import Path

import pytest

from flyball_planner.specification.runs import OF_MODEL, describe_columns

TEXT = (Path(__file__).parents[3] / "docs" / "planning-calibration.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("column", [key.name for key in describe_columns() if not key.name.startswith(OF_MODEL)])
def test_every_column_is_documented(column: str) -> None:
    """The documentation names every column."""
    assert f"`{column}`" in TEXT
