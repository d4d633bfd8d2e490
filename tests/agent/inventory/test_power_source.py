"""Tests of the power source."""

from pathlib import Path

import pytest

from flyball_agent.inventory.power_source import read_power_source
from flyball_agent.probes.testing import write_tree


def supply(name: str, **files: str) -> dict[str, str]:
    """Return the files of one power supply in sysfs."""
    return {f"class/power_supply/{name}/{file}": f"{text}\n" for file, text in files.items()}


PLUGGED = supply("AC", type="Mains", online="1")
UNPLUGGED = supply("AC", type="Mains", online="0")


@pytest.mark.parametrize(
    ("files", "source"),
    [
        ({}, "unknown"),
        (PLUGGED, "mains"),
        ({**PLUGGED, **supply("BAT0", type="Battery", status="Discharging")}, "mains"),
        ({**UNPLUGGED, **supply("BAT0", type="Battery", status="Discharging")}, "battery"),
        ({**UNPLUGGED, **supply("BAT0", type="Battery", status="Unknown")}, "battery"),
        (supply("BAT0", type="Battery", status="Charging"), "mains"),
        (supply("hid-mouse", type="Battery", status="Discharging", scope="Device"), "unknown"),
    ],
)
def test_the_source_follows_the_supplies(tmp_path: Path, files: dict[str, str], source: str) -> None:
    """An online supply means mains, a discharging battery means battery. The battery of a mouse is ignored."""
    assert read_power_source(write_tree(tmp_path, files)) == source
