"""The power supply, the battery, and the power that the parts may draw."""

import re
import shutil
import subprocess
from pathlib import Path

from flyball.host.hardware_parts import HostGpu, HostPower, HostProcessor
from flyball.host.kernel_numbers import read_count
from flyball.host.places import HostPlaces
from flyball.host.reasons import Reasons, add_reasons
from flyball.host.smbios import power_supplies
from flyball_agent.inventory.power_source import UNKNOWN
from flyball_agent.probes.files import entries, read_text
from flyball_proto.v1 import telemetry_pb2 as pb

MICRO = 1e-6
DCMI = ("ipmitool", "dcmi", "power", "reading")
DCMI_SECONDS = 1.0
_READING = re.compile(r"Instantaneous power reading:\s*(\d+)\s*Watts")

REASONS = {
    "source": "the firmware reports no supply (normal on servers and in virtual machines)",
    "battery_percent": "there is no battery",
    "supply_watts": "the firmware does not state it (normal in a virtual machine)",
    "supplies": "the firmware does not list them (normal in a virtual machine)",
    "drawn_watts": "no power meter: neither ACPI's nor a management controller with `ipmitool`",
    "tdp_watts": "the TDP of a part is unknown",
}


def read_power(
    places: HostPlaces,
    inventory: pb.Inventory,
    table: bytes | str,
    parts: tuple[HostProcessor, tuple[HostGpu, ...]],
    reasons: Reasons,
) -> HostPower:
    """Return the supply and the TDP of processors and GPUs. `table` is the firmware's, or why it cannot be read."""
    supplies = power_supplies(table) if isinstance(table, bytes) else []
    rated = [each.watts for each in supplies if each.watts]
    tdp, estimate = total_tdp(*parts)
    power = HostPower(
        source=inventory.power_source if inventory.power_source not in {"", UNKNOWN} else None,
        battery_percent=battery_percent(places),
        supply_watts=float(sum(rated)) if rated else None,
        supplies=len(supplies) or None,
        drawn_watts=acpi_watts(places) or (dcmi_watts() if places.this_machine else None),
        tdp_watts=tdp,
        tdp_is_estimate=estimate,
    )
    if isinstance(table, str):
        add_reasons(reasons, "power", power, dict.fromkeys(("supply_watts", "supplies"), table))
    if tdp is None:
        unknown = ["the processor's"] if parts[0].tdp_watts is None else []
        unknown += [f"GPU {gpu.index}'s" for gpu in parts[1] if gpu.tdp_watts is None]
        reasons["power.tdp_watts"] = f"{' and '.join(unknown)} TDP is unknown"
    add_reasons(reasons, "power", power, REASONS)
    return power


def total_tdp(processor: HostProcessor, gpus: tuple[HostGpu, ...]) -> tuple[float | None, bool]:
    """Return the TDP of all parts, and whether any of it comes from the catalogue. A shared chip counts once."""
    own = [gpu for gpu in gpus if not gpu.unified_memory]
    shared = [gpu.tdp_watts for gpu in gpus if gpu.unified_memory]
    watts = [shared[0] if shared else processor.tdp_watts, *(gpu.tdp_watts for gpu in own)]
    known = [each for each in watts if each is not None]
    estimate = bool(shared) or processor.tdp_source != "rapl" or any(gpu.tdp_source != "driver" for gpu in own)
    return (sum(known) if len(known) == len(watts) else None), estimate


def battery_percent(places: HostPlaces) -> float | None:
    """Return the charge of the machine's own battery; batteries of mice and headsets are left out."""
    supplies = places.sys / "class/power_supply"
    for name in entries(supplies):
        folder = supplies / name
        if read_text(folder / "type") == "Battery" and read_text(folder / "scope") != "Device":
            charge = read_count(folder / "capacity")
            return None if charge is None else float(min(max(charge, 0), 100))
    return None


def acpi_watts(places: HostPlaces) -> float | None:
    """Return the power by the meter of ACPI 4.0, which many servers have."""
    hwmon = places.sys / "class/hwmon"
    for name in entries(hwmon):
        if read_text(hwmon / name / "name") == "power_meter":
            microwatts = read_count(hwmon / name / "power1_average")
            return microwatts * MICRO if microwatts else None
    return None


def dcmi_watts() -> float | None:
    """Return the power by the management controller, if `ipmitool` is installed and may ask it."""
    if not Path("/dev/ipmi0").exists() or shutil.which(DCMI[0]) is None:
        return None
    try:
        done = subprocess.run(DCMI, capture_output=True, text=True, timeout=DCMI_SECONDS, check=False, errors="replace")
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_dcmi(done.stdout)


def parse_dcmi(text: str) -> float | None:
    """Return the watts of a reading of DCMI; 0 means that the controller measures nothing."""
    match = _READING.search(text)
    return float(match[1]) or None if match else None
