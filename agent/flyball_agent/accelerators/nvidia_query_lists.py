"""The queries to an NVIDIA device: those of each tick, those every ten seconds, and those for constants.

The times in comments are those of one call on an H100 (driver 580).
"""

import ctypes
from collections.abc import Sequence

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.nvidia_c2c import C2cLinksQuery
from flyball_agent.accelerators.nvidia_columns import (
    CONSTANT_FIELDS,
    ENGINES,
    FAST_FIELDS,
    SLOW_FIELDS,
    SRAM_KINDS,
    THROTTLE_BITS,
)
from flyball_agent.accelerators.nvidia_fabric import FabricQuery
from flyball_agent.accelerators.nvidia_gpm import GpmQuery
from flyball_agent.accelerators.nvidia_link_bytes import LinkBytesQuery
from flyball_agent.accelerators.nvidia_links import LinkCountersQuery, LinksQuery
from flyball_agent.accelerators.nvidia_pcie import PcieBytesQuery
from flyball_agent.accelerators.nvidia_queries import DeviceQuery, FieldsQuery, MarginQuery, NumberQuery, StructQuery
from flyball_agent.accelerators.nvml import Nvml
from flyball_proto.metric import Metric

_MEGAHERTZ = 1_000_000
_SHUTDOWN, _SLOWDOWN, _MEMORY_MAX, _GPU_MAX = range(4)  # NVML_TEMPERATURE_THRESHOLD_*

Number = tuple[str, Metric, float, int | None]
"""Call, metric, factor to our unit, and the argument that selects one of several numbers."""


def fast_queries(nvml: Nvml, handle: ctypes.c_void_p) -> list[DeviceQuery]:
    """Build the queries for readings that change, and are used, every second."""
    call = nvml.call
    reasons = "nvmlDeviceGetCurrentClocksEventReasons"
    if not nvml.has(reasons):
        reasons = "nvmlDeviceGetCurrentClocksThrottleReasons"
    fields, activity = FieldsQuery(nvml, handle, FAST_FIELDS), GpmQuery(nvml, handle)
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
        MarginQuery(nvml, handle),
        NumberQuery(call("nvmlDeviceGetClockInfo"), DeviceColumn(m.SM_CLOCK), _MEGAHERTZ, handle, 1),
        StructQuery(
            call(reasons),
            [DeviceColumn(m.THROTTLED, reason) for reason in THROTTLE_BITS],
            "=Q",
            lambda bits: [1 if bits[0] & bit else 0 for bit in THROTTLE_BITS.values()],
            handle,
        ),
        fields,
        LinkBytesQuery(nvml, handle, fields),
        activity,
        PcieBytesQuery(nvml, handle, activity),  # after `activity`, which has the rates
    ]


def slow_queries(nvml: Nvml, handle: ctypes.c_void_p) -> list[DeviceQuery]:
    """Build the queries for states, health, links and cumulative counters."""
    numbers: tuple[Number, ...] = (
        ("nvmlDeviceGetFanSpeed", m.FAN, 0.01, None),
        ("nvmlDeviceGetPerformanceState", m.PERFORMANCE_STATE, 1, None),
        ("nvmlDeviceGetClockInfo", m.MEMORY_CLOCK, _MEGAHERTZ, 2),
        ("nvmlDeviceGetEnforcedPowerLimit", m.POWER_LIMIT, 1e-3, None),
        ("nvmlDeviceGetCurrPcieLinkGeneration", m.PCIE_GENERATION, 1, None),
        ("nvmlDeviceGetCurrPcieLinkWidth", m.PCIE_WIDTH, 1, None),
        ("nvmlDeviceGetPersistenceMode", m.PERSISTENCE, 1, None),
    )
    links = LinksQuery(nvml, handle)
    return [
        *_numbers(nvml, handle, numbers),
        *_engines(nvml, handle),
        _bar1(nvml, handle),
        _sram(nvml, handle),
        FabricQuery(nvml, handle),
        FieldsQuery(nvml, handle, SLOW_FIELDS),
        links,
        LinkCountersQuery(nvml, handle, links),
        C2cLinksQuery(nvml, handle),
    ]


def constant_queries(nvml: Nvml, handle: ctypes.c_void_p) -> list[DeviceQuery]:
    """Build the queries for what only a new board or driver changes. nvmlDeviceGetMaxClockInfo takes 1 to 3 ms."""
    numbers: tuple[Number, ...] = (
        ("nvmlDeviceGetMaxClockInfo", m.SM_CLOCK_MAX, _MEGAHERTZ, 1),
        ("nvmlDeviceGetTemperatureThreshold", m.SHUTDOWN_TEMPERATURE, 1, _SHUTDOWN),
        ("nvmlDeviceGetTemperatureThreshold", m.SLOWDOWN_TEMPERATURE, 1, _SLOWDOWN),
        ("nvmlDeviceGetTemperatureThreshold", m.MEMORY_TEMPERATURE_MAX, 1, _MEMORY_MAX),
        ("nvmlDeviceGetTemperatureThreshold", m.OPERATING_TEMPERATURE_MAX, 1, _GPU_MAX),
        ("nvmlDeviceGetMaxPcieLinkGeneration", m.PCIE_GENERATION_MAX, 1, None),
        ("nvmlDeviceGetMaxPcieLinkWidth", m.PCIE_WIDTH_MAX, 1, None),
    )
    return [*_numbers(nvml, handle, numbers), FieldsQuery(nvml, handle, CONSTANT_FIELDS)]


def _numbers(nvml: Nvml, handle: ctypes.c_void_p, numbers: Sequence[Number]) -> list[DeviceQuery]:
    return [
        NumberQuery(nvml.call(name), DeviceColumn(metric), factor, handle, *(() if which is None else (which,)))
        for name, metric, factor, which in numbers
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


def _engines(nvml: Nvml, handle: ctypes.c_void_p) -> list[DeviceQuery]:
    """Build the queries for the utilisation of engines. The driver also writes its sampling period."""
    names = ("Encoder", "Decoder", "Jpg", "Ofa")
    return [
        StructQuery(
            nvml.call(f"nvmlDeviceGet{name}Utilization"),
            (DeviceColumn(m.ENGINE_UTILIZATION, engine),),
            "=I",
            lambda reply: (reply[0] / 100,),
            handle,
            more=(ctypes.byref(ctypes.c_uint()),),
        )
        for name, engine in zip(names, ENGINES, strict=True)
    ]


def _bar1(nvml: Nvml, handle: ctypes.c_void_p) -> DeviceQuery:
    return StructQuery(
        nvml.call("nvmlDeviceGetBAR1MemoryInfo"),
        (DeviceColumn(m.BAR1_TOTAL), DeviceColumn(m.BAR1_USED)),
        "=QQQ",
        lambda info: (info[0], info[2]),
        handle,
    )


def _sram(nvml: Nvml, handle: ctypes.c_void_p) -> DeviceQuery:
    return StructQuery(
        nvml.call("nvmlDeviceGetSramEccErrorStatus"),
        (*(DeviceColumn(m.SRAM_ERRORS, kind) for kind in SRAM_KINDS), DeviceColumn(m.SRAM_THRESHOLD)),
        "=I4x11QI4x",  # nvmlEccSramErrorStatus_v1_t: three lifetime counters first, the threshold last
        lambda status: (*status[1:4], int(status[12] > 0)),
        handle,
        version=nvml.structures.nvmlEccSramErrorStatus_v1,
    )
