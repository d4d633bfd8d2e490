"""Tests of the contents of the wheel."""

from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from flyball_planner.catalogue.tables import FOLDER

ROOT = Path(__file__).parents[3]


def test_the_wheel_contains_the_data() -> None:
    """The wheel contains every table of the catalogue."""
    packed = {each.distribution_path for each in WheelBuilder(str(ROOT)).recurse_included_files()}
    for file in FOLDER.glob("*.csv"):
        assert f"flyball_planner/catalogue/data/{file.name}" in packed
