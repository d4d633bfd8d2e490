"""The queries to an NVIDIA device at each tick, and those every ten seconds."""

import ctypes

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.nvidia_columns import FAST_FIELDS, SLOW_FIELDS, THROTTLE_BITS
from flyball_agent.accelerators.nvidia_queries import (
    DeviceQuery,
    FieldsQuery,
    GpmQuery,
    LinksQuery,
    NumberQuery,
    StructQuery,
)
from flyball_agent.accelerators.nvml import Nvml

_MEGAHERTZ = 1_000_000


def fast_queries(nvml: Nvml, handle: ctypes.c_void_p) -> list[DeviceQuery]:
    """Build the queries for readings that change every second."""
    call = nvml.call
    reasons = "nvmlDeviceGetCurrentClocksEventReasons"
    if not nvml.has(reasons):
        reasons = "nvmlDeviceGetCurrentClocksThrottleReasons"
    return [
        StructQuery(
            call("nvmlDeviceGetUtilizationRates"),
            (DeviceColumn(m.UTILIZATION), DeviceColumn(m.MEMORY_BUSY)),
            "=II",
            lambda rates: (rates[0] / 100, rates[1] / 100),
            handle,
        ),
        StructQuery(
            call("nvmlDeviceGetMemoryInfo_v2"),
            (DeviceColumn(m.MEMORY_TOTAL), DeviceColumn(m.MEMORY_RESERVED), DeviceColumn(m.MEMORY_USED)),
            "=I4xQQQQ",
            lambda info: (info[1], info[2], info[4]),
            handle,
            version=nvml.structures.nvmlMemory_v2,
        ),
        NumberQuery(call("nvmlDeviceGetPowerUsage"), DeviceColumn(m.POWER), 1e-3, handle),
        _temperature(nvml, handle),
        _margin(nvml, handle),
        NumberQuery(call("nvmlDeviceGetClockInfo"), DeviceColumn(m.SM_CLOCK), _MEGAHERTZ, handle, 1),
        NumberQuery(call("nvmlDeviceGetClockInfo"), DeviceColumn(m.MEMORY_CLOCK), _MEGAHERTZ, handle, 2),
        NumberQuery(call("nvmlDeviceGetFanSpeed"), DeviceColumn(m.FAN), 0.01, handle),
        NumberQuery(call("nvmlDeviceGetPerformanceState"), DeviceColumn(m.PERFORMANCE_STATE), 1, handle),
        StructQuery(
            call(reasons),
            [DeviceColumn(m.THROTTLED, reason) for reason in THROTTLE_BITS],
            "=Q",
            lambda bits: [1 if bits[0] & bit else 0 for bit in THROTTLE_BITS.values()],
            handle,
        ),
        FieldsQuery(nvml, handle, FAST_FIELDS),
        GpmQuery(nvml, handle),
    ]


def slow_queries(nvml: Nvml, handle: ctypes.c_void_p) -> list[DeviceQuery]:
    """Build the queries for limits, health and link states."""
    numbers = (
        ("nvmlDeviceGetEnforcedPowerLimit", m.POWER_LIMIT, 1e-3, None),
        ("nvmlDeviceGetTemperatureThreshold", m.SLOWDOWN_TEMPERATURE, 1, 1),
        ("nvmlDeviceGetMaxClockInfo", m.SM_CLOCK_MAX, _MEGAHERTZ, 1),
        ("nvmlDeviceGetCurrPcieLinkGeneration", m.PCIE_GENERATION, 1, None),
        ("nvmlDeviceGetCurrPcieLinkWidth", m.PCIE_WIDTH, 1, None),
        ("nvmlDeviceGetMaxPcieLinkGeneration", m.PCIE_GENERATION_MAX, 1, None),
        ("nvmlDeviceGetMaxPcieLinkWidth", m.PCIE_WIDTH_MAX, 1, None),
    )
    return [
        *(
            NumberQuery(nvml.call(name), DeviceColumn(metric), factor, handle, *(() if which is None else (which,)))
            for name, metric, factor, which in numbers
        ),
        FieldsQuery(nvml, handle, SLOW_FIELDS),
        LinksQuery(nvml, handle),
    ]


def _temperature(nvml: Nvml, handle: ctypes.c_void_p) -> DeviceQuery:
    if not nvml.has("nvmlDeviceGetTemperatureV"):  # drivers before R570
        return NumberQuery(nvml.call("nvmlDeviceGetTemperature"), DeviceColumn(m.TEMPERATURE), 1, handle, 0)
    return StructQuery(
        nvml.call("nvmlDeviceGetTemperatureV"),
        (DeviceColumn(m.TEMPERATURE),),
        "=IIi",
        lambda reply: (reply[2],),
        handle,
        version=nvml.structures.nvmlTemperature_v1,
    )


def _margin(nvml: Nvml, handle: ctypes.c_void_p) -> DeviceQuery:
    return StructQuery(
        nvml.call("nvmlDeviceGetMarginTemperature"),
        (DeviceColumn(m.TEMPERATURE_MARGIN),),
        "=Ii",
        lambda reply: (reply[1],),
        handle,
        version=nvml.structures.nvmlMarginTemperature_v1,
    )
