"""The risk that a host becomes too hot under full load, from its temperatures, its case and its cards."""

import re
from collections.abc import Iterator

from msgspec import Struct

from flyball.host.hardware_parts import HostGpu
from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.power_budget import is_portable, is_server

NEAR, CLOSE = 15.0, 5.0  # °C below the slowdown temperature
BUSY_SHARE = 0.5  # of the power limit: below it, a temperature shows little about full load
AMBIENT_CELSIUS = 25.0  # ASHRAE recommends 18 to 27 °C at the inlet
DESKTOP_WATTS = 900.0
"""GPUs that heat one desktop case: two cards of 450 W. Workstations with more have ducted fans or water cooling."""

USUAL_SLOWDOWN_CELSIUS = 83.0  # where GeForce cards begin to lower their clocks, if the driver states no limit
LEVELS = ("low", "medium", "high")

_PASSIVE = re.compile(
    r"\b(?:T4|L4|L20|L40S?|A2|A10G?|A16|A30|A40|P4|P40|(?:A100|H100|P100|V100S?) PCIe|H[12]00 NVL|MI100|MI210)\b"
)
"""Cards without fans: they need the air of a server."""


class CoolingRisk(Struct, frozen=True):
    """A level with its reasons; None where no temperature and no other sign is known."""

    level: str | None
    because: tuple[str, ...]


def cooling_risk(profile: HardwareProfile) -> CoolingRisk:
    """Return the highest level of all signs."""
    signs = [*_gpu_signs(profile), *_sensor_signs(profile), *_case_signs(profile)]
    if signs:
        level = max(level for level, _ in signs)
        return CoolingRisk(LEVELS[level], tuple(dict.fromkeys(text for found, text in signs if found == level)))
    known = [each.temperature_celsius for each in profile.gpus if each.temperature_celsius is not None]
    known += [each.celsius for each in profile.temperatures]
    if not known:
        return CoolingRisk(None, ("no sensor reports a temperature",))
    return CoolingRisk("low", (f"the hottest sensor is at {max(known):.0f} °C",))


def slowdown_of(gpu: HostGpu) -> float:
    """Return the temperature at which a GPU slows down, or a usual one."""
    return gpu.slowdown_celsius or USUAL_SLOWDOWN_CELSIUS


def _gpu_signs(profile: HardwareProfile) -> Iterator[tuple[int, str]]:
    for gpu in profile.gpus:
        name = f"GPU {gpu.index}"
        if any("thermal" in reason for reason in gpu.throttle_reasons):
            yield 2, f"{name} lowers its clocks because of heat now"
        if gpu.temperature_celsius is None:
            continue
        room = slowdown_of(gpu) - gpu.temperature_celsius
        if room < NEAR:
            limit = f"it slows down at {slowdown_of(gpu):.0f} °C"
            yield 2 if room < CLOSE else 1, f"{name} is at {gpu.temperature_celsius:.0f} °C; {limit}"
            continue
        yield from _forecast(gpu)


def _forecast(gpu: HostGpu) -> Iterator[tuple[int, str]]:
    """Extend the line from ambient temperature through the present one to the power limit; fans would lower it."""
    if gpu.temperature_celsius is None or not gpu.power_watts or not gpu.power_limit_watts:
        return
    share = gpu.power_watts / gpu.power_limit_watts
    if share < BUSY_SHARE:
        return
    reached = AMBIENT_CELSIUS + (gpu.temperature_celsius - AMBIENT_CELSIUS) / share
    if share < 1 and reached > slowdown_of(gpu):
        now = f"{gpu.temperature_celsius:.0f} °C at {gpu.power_watts:.0f} W"
        at_limit = f"{reached:.0f} °C at its limit of {gpu.power_limit_watts:.0f} W unless its fans speed up"
        yield 1, f"GPU {gpu.index} is at {now}, which means {at_limit}"


def _sensor_signs(profile: HardwareProfile) -> Iterator[tuple[int, str]]:
    for sensor in profile.temperatures:
        limit = sensor.critical_celsius
        if limit is not None and limit - sensor.celsius < NEAR:
            level = 2 if limit - sensor.celsius < CLOSE else 1
            yield level, f"{sensor.name} is at {sensor.celsius:.0f} °C of {limit:.0f} °C"


def _case_signs(profile: HardwareProfile) -> Iterator[tuple[int, str]]:
    if is_portable(profile):
        yield 1, "a laptop holds its highest clocks only for minutes"
    if is_server(profile) or profile.limits.virtualization:
        return
    fanless = [each for each in profile.gpus if _PASSIVE.search(each.catalogue_name or each.model or "")]
    if fanless:
        name = fanless[0].catalogue_name or fanless[0].model
        yield 1, f"{name} has no fan of its own and needs the air flow of a server"
    watts = sum(each.power_limit_watts or each.tdp_watts or 0.0 for each in profile.gpus)
    if watts > DESKTOP_WATTS and not is_portable(profile):
        yield 1, f"GPUs heat the case with up to {watts:,.0f} W"
