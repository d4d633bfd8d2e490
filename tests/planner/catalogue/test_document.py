"""Tests of the catalogue's page of documentation."""

from pathlib import Path

from flyball_planner.catalogue.document import EXAMPLE, page
from flyball_planner.catalogue.files import read_hardware
from flyball_planner.catalogue.tables import table

PAGE = Path(__file__).parents[3] / "docs/hardware.md"


def test_the_page_is_up_to_date() -> None:
    """If this fails, run `make generated`."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_example_is_valid() -> None:
    """The example file on the page defines two devices."""
    own, capped = read_hardware(EXAMPLE)
    assert (own.name, own.power_watts) == ("Abacus 9", 500)
    assert (capped.power_watts, capped.memory_bytes) == (250, 80 * 2**30)


def test_the_page_explains_left_out_offers() -> None:
    """The page gives the reason for each left-out price, and every figure has a source."""
    for row in table("left_out"):
        assert all(row[key] for key in ("name", "what", "why", "source"))
        assert row["why"] in page()
    assert all(row["source"] for name in ("storage", "networks", "links") for row in table(name))
