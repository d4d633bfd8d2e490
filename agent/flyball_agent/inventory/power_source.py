"""The power source of the host: mains or battery."""

from pathlib import Path

from flyball_agent.probes.files import entries, read_number, read_text

MAINS, BATTERY, UNKNOWN = "mains", "battery", "unknown"


def read_power_source(sys_root: Path) -> str:
    """Read the power source from sysfs. Batteries of peripherals are ignored; on most servers it is unknown."""
    supplies = sys_root / "class/power_supply"
    folders = [supplies / name for name in entries(supplies) if read_text(supplies / name / "scope") != "Device"]
    kinds = {folder: read_text(folder / "type") or "" for folder in folders}
    plugs = [read_number(folder / "online") for folder, kind in kinds.items() if kind in {"Mains", "USB", "Wireless"}]
    states = [read_text(folder / "status") for folder, kind in kinds.items() if kind == "Battery"]
    if any(plug == 1 for plug in plugs):
        return MAINS
    if "Discharging" in states:
        return BATTERY
    if any(state in {"Charging", "Full", "Not charging"} for state in states):
        return MAINS
    return BATTERY if states and 0 in plugs else UNKNOWN
