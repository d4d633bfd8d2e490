"""What is asked of an NVIDIA device each second, and what every ten seconds."""

import ctypes

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import Slot
from flyball_agent.accelerators.nvidia_questions import (
    FieldsQuestion,
    GpmQuestion,
    LinksQuestion,
    NumberQuestion,
    Question,
    StructQuestion,
)
from flyball_agent.accelerators.nvidia_slots import FAST_FIELDS, SLOW_FIELDS, THROTTLE_BITS
from flyball_agent.accelerators.nvml import Nvml

_MEGAHERTZ = 1_000_000


def fast_questions(nvml: Nvml, handle: ctypes.c_void_p) -> list[Question]:
    """What moves from second to second."""
    call = nvml.call
    reasons = "nvmlDeviceGetCurrentClocksEventReasons"
    if not nvml.has(reasons):
        reasons = "nvmlDeviceGetCurrentClocksThrottleReasons"
    return [
        StructQuestion(
            call("nvmlDeviceGetUtilizationRates"),
            (Slot(m.UTILIZATION), Slot(m.MEMORY_BUSY)),
            "=II",
            lambda rates: (rates[0] / 100, rates[1] / 100),
            handle,
        ),
        StructQuestion(
            call("nvmlDeviceGetMemoryInfo_v2"),
            (Slot(m.MEMORY_TOTAL), Slot(m.MEMORY_RESERVED), Slot(m.MEMORY_USED)),
            "=I4xQQQQ",
            lambda info: (info[1], info[2], info[4]),
            handle,
            version=nvml.structures.nvmlMemory_v2,
        ),
        NumberQuestion(call("nvmlDeviceGetPowerUsage"), Slot(m.POWER), 1e-3, handle),
        _temperature(nvml, handle),
        _margin(nvml, handle),
        NumberQuestion(call("nvmlDeviceGetClockInfo"), Slot(m.SM_CLOCK), _MEGAHERTZ, handle, 1),
        NumberQuestion(call("nvmlDeviceGetClockInfo"), Slot(m.MEMORY_CLOCK), _MEGAHERTZ, handle, 2),
        NumberQuestion(call("nvmlDeviceGetFanSpeed"), Slot(m.FAN), 0.01, handle),
        NumberQuestion(call("nvmlDeviceGetPerformanceState"), Slot(m.PERFORMANCE_STATE), 1, handle),
        StructQuestion(
            call(reasons),
            [Slot(m.THROTTLED, reason) for reason in THROTTLE_BITS],
            "=Q",
            lambda bits: [1 if bits[0] & bit else 0 for bit in THROTTLE_BITS.values()],
            handle,
        ),
        FieldsQuestion(nvml, handle, FAST_FIELDS),
        GpmQuestion(nvml, handle),
    ]


def slow_questions(nvml: Nvml, handle: ctypes.c_void_p) -> list[Question]:
    """Limits, health and what the links came up with."""
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
            NumberQuestion(nvml.call(name), Slot(metric), factor, handle, *(() if which is None else (which,)))
            for name, metric, factor, which in numbers
        ),
        FieldsQuestion(nvml, handle, SLOW_FIELDS),
        LinksQuestion(nvml, handle),
    ]


def _temperature(nvml: Nvml, handle: ctypes.c_void_p) -> Question:
    if not nvml.has("nvmlDeviceGetTemperatureV"):  # drivers before R570
        return NumberQuestion(nvml.call("nvmlDeviceGetTemperature"), Slot(m.TEMPERATURE), 1, handle, 0)
    return StructQuestion(
        nvml.call("nvmlDeviceGetTemperatureV"),
        (Slot(m.TEMPERATURE),),
        "=IIi",
        lambda reply: (reply[2],),
        handle,
        version=nvml.structures.nvmlTemperature_v1,
    )


def _margin(nvml: Nvml, handle: ctypes.c_void_p) -> Question:
    return StructQuestion(
        nvml.call("nvmlDeviceGetMarginTemperature"),
        (Slot(m.TEMPERATURE_MARGIN),),
        "=Ii",
        lambda reply: (reply[1],),
        handle,
        version=nvml.structures.nvmlMarginTemperature_v1,
    )
