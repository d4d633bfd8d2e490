"""The accelerators of this machine, as they are now."""

import platform

from flyball.host.apple_chip import apple_gpu
from flyball.host.card_readings import NVIDIA, CardReadings, MachineCards, link_width
from flyball.host.catalogue_names import catalogue_device
from flyball.host.hardware_parts import HostGpu
from flyball.host.places import HostPlaces
from flyball.host.reasons import Reasons, add_reasons
from flyball_agent.accelerators import metrics as m
from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.precision import NumberFormat
from flyball_proto.metric import Metric

MEGA = 1_000_000
_LEAST_MEMORY = 2 * 2**30
"""Cards of AMD and Intel with less memory of their own are parts of the processor, which trainings do not use."""

_FORMATS = tuple(each.value for each in NumberFormat)

_METRICS: dict[str, tuple[Metric, ...]] = {
    "memory_used_bytes": (m.MEMORY_USED,),
    "power_watts": (m.POWER,),
    "power_limit_watts": (m.POWER_LIMIT,),
    "power_limit_default_watts": (m.POWER_LIMIT_DEFAULT,),
    "power_limit_max_watts": (m.POWER_LIMIT_MAX,),
    "sm_clock_mhz": (m.SM_CLOCK,),
    "sm_clock_max_mhz": (m.SM_CLOCK_MAX,),
    "temperature_celsius": (m.TEMPERATURE,),
    "slowdown_celsius": (m.OPERATING_TEMPERATURE_MAX, m.SLOWDOWN_TEMPERATURE),
    "pcie_generation": (m.PCIE_GENERATION,),
    "pcie_generation_max": (m.PCIE_GENERATION_MAX,),
    "pcie_width": (m.PCIE_WIDTH,),
    "pcie_width_max": (m.PCIE_WIDTH_MAX,),
    "nvlinks": (m.NVLINK_LINKS,),
    "mig_enabled": (m.MIG_ENABLED,),
    "persistence_mode": (m.PERSISTENCE,),
    "ecc_enabled": (m.ECC_ENABLED,),
    "uncorrected_errors": (m.ECC_UNCORRECTED_LIFETIME, m.ECC_UNCORRECTED),
    "retired_pages": (m.RETIRED_PAGES, m.REMAPPED_ROWS),
    "pages_pending": (m.RETIRED_PAGES_PENDING, m.REMAP_PENDING),
}
"""The metrics of the agent behind each value."""

REASONS = {
    "uuid": "the driver reports none",
    "model": "the driver reports no model",
    "catalogue_name": "the model is not in the catalogue; `flyball hardware` lists it, and a file can add it",
    "memory_bytes": "the driver does not report it",
    "architecture": "the driver does not report it",
    "compute_capability": "only NVIDIA's driver reports it",
    "driver_version": "the driver does not report it",
    "precisions_source": "neither the driver nor the catalogue has the model's precisions",
    "tdp_watts": "neither the driver nor the catalogue has it",
    "tdp_source": "the TDP is unknown",
    "pcie_width_card": "sysfs has no PCIe link of this card",
    "numa_node": "the card belongs to no NUMA node, or the driver does not report it",
    **dict.fromkeys(_METRICS, "the driver does not report it"),
}


def host_gpus(places: HostPlaces, found: MachineCards, reasons: Reasons) -> tuple[HostGpu, ...]:
    """Return the accelerators, numbered in the order of their drivers."""
    cards = [each for each in found.cards if _is_accelerator(each)]
    gpus = tuple(_gpu(position, card, places, reasons) for position, card in enumerate(cards))
    if not gpus and places.this_machine and platform.system() == "Darwin":
        gpus = apple_gpu(reasons)
    reasons.update({f"gpus.lost.{number}": detail for number, detail in found.lost.items()})
    if not gpus:
        left_out = [f"{each.card.model} is a part of the processor" for each in found.cards]
        reasons["gpus"] = "; ".join([*left_out, *(found.absent.values())]) or "no GPU"
    return gpus


def _is_accelerator(readings: CardReadings) -> bool:
    return readings.card.vendor == NVIDIA or readings.card.memory_bytes >= _LEAST_MEMORY


def _gpu(position: int, readings: CardReadings, places: HostPlaces, reasons: Reasons) -> HostGpu:
    card = readings.card
    device = catalogue_device(card.model, "gpu", card.memory_bytes or None) if card.model else None
    precisions, source = precisions_of(tuple(card.precisions), device)
    tdp, tdp_source = _tdp(readings, device)
    gpu = HostGpu(
        index=position,
        uuid=card.uuid or None,
        vendor=card.vendor or None,
        model=card.model or None,
        catalogue_name=device.name if device else None,
        memory_bytes=card.memory_bytes or None,
        memory_used_bytes=_whole(readings.value(m.MEMORY_USED)),
        architecture=card.architecture or (device.architecture if device else None),
        compute_capability=card.compute_capability or None,
        driver_version=card.driver_version or None,
        precisions=precisions,
        precisions_source=source,
        power_watts=readings.value(m.POWER),
        power_limit_watts=readings.value(m.POWER_LIMIT) or card.power_limit_watts or None,
        power_limit_default_watts=readings.value(m.POWER_LIMIT_DEFAULT),
        power_limit_max_watts=readings.value(m.POWER_LIMIT_MAX),
        tdp_watts=tdp,
        tdp_source=tdp_source,
        sm_clock_mhz=_mega(readings.value(m.SM_CLOCK)),
        sm_clock_max_mhz=_mega(readings.value(m.SM_CLOCK_MAX)),
        temperature_celsius=readings.value(m.TEMPERATURE),
        slowdown_celsius=_slowdown(readings),
        throttle_reasons=tuple(readings.labels(m.THROTTLED)),
        pcie_generation=_whole(readings.value(m.PCIE_GENERATION)),
        pcie_generation_max=_whole(readings.value(m.PCIE_GENERATION_MAX)),
        pcie_width=_whole(readings.value(m.PCIE_WIDTH)),
        pcie_width_max=_whole(readings.value(m.PCIE_WIDTH_MAX)),
        pcie_width_card=link_width(places.sys, card.pci_address),
        nvlinks=_whole(readings.value(m.NVLINK_LINKS)),
        numa_node=card.numa_node if card.numa_node >= 0 else None,
        mig_enabled=_flag(readings.value(m.MIG_ENABLED)),
        persistence_mode=_flag(readings.value(m.PERSISTENCE)),
        ecc_enabled=_flag(readings.value(m.ECC_ENABLED)),
        uncorrected_errors=_uncorrected(readings),
        retired_pages=_whole(readings.total(m.RETIRED_PAGES, m.REMAPPED_ROWS)),
        pages_pending=_flag(readings.total(m.RETIRED_PAGES_PENDING, m.REMAP_PENDING)),
    )
    path = f"gpus.{position}"
    add_reasons(reasons, path, gpu, _drivers_reasons(readings))
    add_reasons(reasons, path, gpu, REASONS)
    return gpu


def precisions_of(reported: tuple[str, ...], device: ComputeDevice | None) -> tuple[dict[str, bool], str | None]:
    """Return for each number format whether the card computes with it, and who states that."""
    if reported:
        return {each: each in reported for each in _FORMATS}, "driver"
    if device is not None:
        return {each.value: device.native(each) for each in NumberFormat}, "catalogue"
    return {}, None


def _tdp(readings: CardReadings, device: ComputeDevice | None) -> tuple[float | None, str | None]:
    limit = readings.value(m.POWER_LIMIT_DEFAULT)
    if limit:
        return limit, "driver"
    return (device.power_watts, "catalogue") if device and device.power_watts else (None, None)


def _slowdown(readings: CardReadings) -> float | None:
    """Return the temperature at which clocks begin to fall. Newer drivers have only the margin to it."""
    temperature, margin = readings.value(m.TEMPERATURE), readings.value(m.TEMPERATURE_MARGIN)
    if found := readings.value(m.OPERATING_TEMPERATURE_MAX):
        return found
    if temperature is not None and margin is not None:
        return temperature + margin
    return readings.value(m.SLOWDOWN_TEMPERATURE)


def _uncorrected(readings: CardReadings) -> int | None:
    lifetime = readings.value(m.ECC_UNCORRECTED_LIFETIME)
    return _whole(readings.value(m.ECC_UNCORRECTED) if lifetime is None else lifetime)


def _drivers_reasons(readings: CardReadings) -> dict[str, str]:
    found = {}
    for name, metrics in _METRICS.items():
        detail = next((readings.reasons[each.name] for each in metrics if each.name in readings.reasons), None)
        if detail is not None:
            found[name] = detail
    return found


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _mega(hertz: float | None) -> float | None:
    return None if hertz is None else hertz / MEGA


def _flag(value: float | None) -> bool | None:
    return None if value is None else bool(value)
