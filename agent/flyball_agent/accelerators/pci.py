"""Finds display controllers on the PCI bus, with or without a driver."""

from pathlib import Path

from flyball_agent.probes.files import entries, read_text

_DISPLAY = "0x03"  # class code: VGA, 3D and other display controllers


def has_display_of(sys_root: Path, vendor: int) -> bool:
    """Return True if there is a display controller of this vendor."""
    devices = sys_root / "bus/pci/devices"
    return any(
        read_text(devices / name / "vendor") == f"0x{vendor:04x}"
        and (read_text(devices / name / "class") or "").startswith(_DISPLAY)
        for name in entries(devices)
    )
