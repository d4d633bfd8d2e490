"""The page of the catalogue."""

from pathlib import Path

from flyball_planner.catalogue.document import EXAMPLE, page
from flyball_planner.catalogue.files import read_hardware
from flyball_planner.catalogue.tables import table

PAGE = Path(__file__).parents[3] / "docs/hardware.md"


def test_the_page_is_todays() -> None:
    """`python -m flyball_planner.catalogue.document docs/hardware.md` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_its_example_is_taken() -> None:
    """Whoever copies the file of the page gets two devices."""
    own, capped = read_hardware(EXAMPLE)
    assert (own.name, own.power_watts) == ("Abacus 9", 500)
    assert (capped.power_watts, capped.memory_bytes) == (250, 80 * 2**30)


def test_what_is_known_and_not_offered_is_told() -> None:
    """A price without a device that could train has its reason on the page, as every figure has its source."""
    for row in table("left_out"):
        assert all(row[key] for key in ("name", "what", "why", "source"))
        assert row["why"] in page()
    assert all(row["source"] for name in ("storage", "networks", "links") for row in table(name))
