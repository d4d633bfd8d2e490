"""Tests that the plans shown in the documentation are those that the planner makes."""

import re
from pathlib import Path

import pytest

from flyball_planner.api import plan_file
from flyball_planner.report.sections import summary

ROOT = Path(__file__).parents[2]
SAMPLE = re.compile(r"^( *)GPT-3 1\.3B on eight A100s\n((?:\1\S.*\n)+)", re.MULTILINE)


@pytest.mark.parametrize("page", ["docs/planning.md", "docs/how-to/plan.md"])
def test_the_shown_plan_is_that_of_the_example(page: str) -> None:
    """Every row of the sample is a row of the example's plan, so that a refit of the planner renews the page."""
    found = SAMPLE.search((ROOT / page).read_text(encoding="utf-8"))
    assert found is not None
    shown = [re.split(r" {2,}", line.strip()) for line in found[2].splitlines()]
    (table,) = summary(plan_file(ROOT / "examples" / "transformer.yaml")).tables
    rows = [list(row) for row in table.rows]
    assert [row for row in shown if len(row) > 1 and row not in rows] == []
    assert ["Time", *rows[0][1:]] in shown
