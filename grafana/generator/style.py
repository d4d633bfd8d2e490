"""Colours, thresholds and value mappings that mean the same on every dashboard."""

from grafana_foundation_sdk.builders.dashboard import ThresholdsConfig
from grafana_foundation_sdk.models.dashboard import (
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMapping,
    ValueMappingResult,
)

from flyball_collector.diagnosis.health.xid_catalogue import XIDS, XidClass

GOOD, NOTE, WARNING, CRITICAL, NEUTRAL = "green", "blue", "orange", "red", "#808080"

Steps = tuple[tuple[float | None, str], ...]
USAGE: Steps = ((None, GOOD), (0.8, WARNING), (0.95, CRITICAL))
"""For ratios of which a high value is bad."""
STALLS: Steps = ((None, GOOD), (0.1, WARNING), (0.4, CRITICAL))
"""For shares of time in which work stalls."""
BUSY: Steps = ((None, CRITICAL), (0.4, WARNING), (0.75, GOOD))
"""For the utilisation of GPUs, of which a low value is bad."""
ANY_IS_CRITICAL: Steps = ((None, GOOD), (1, CRITICAL))
ANY_IS_WARNING: Steps = ((None, GOOD), (1, WARNING))
MARGIN: Steps = ((None, CRITICAL), (5, WARNING), (15, GOOD))
"""Degrees left before a GPU slows down."""
UNCOLOURED: Steps = ((None, NOTE),)
TIME_LEFT: Steps = ((None, CRITICAL), (600, WARNING), (3600, NOTE))

NO_DATA = "No data: the reading is unavailable"
"""Shown by a panel without data, because unknown is not zero. The panels of unavailable readings show the reason."""
NO_NUMBER = "unavailable"
"""The same in the large digits of a stat panel, where a sentence has no room."""


def thresholds(steps: Steps) -> ThresholdsConfig:
    """Build absolute thresholds."""
    return (
        ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(value=value, color=color) for value, color in steps])
    )


def mappings(meanings: dict[str, tuple[str, str]]) -> list[ValueMapping]:
    """Map values to texts with a colour."""
    options = {
        value: ValueMappingResult(text=text, color=color, index=index)
        for index, (value, (text, color)) in enumerate(meanings.items())
    }
    return [ValueMap(options=options)]


UP = mappings({"1": ("reporting", GOOD), "0": ("not reporting", CRITICAL)})
WORKS = mappings({"1": ("works", GOOD), "0": ("fails", CRITICAL)})
THROTTLED = mappings({"0": ("no", GOOD), "1": ("throttled", CRITICAL)})
YES_NO = mappings({"0": ("no", GOOD), "1": ("yes", CRITICAL)})
SEVERITY_NUMBERS = mappings({"1": ("info", NOTE), "2": ("warning", WARNING), "3": ("critical", CRITICAL)})
ADVISED = mappings({"1": ("advised", NOTE)})
PRIMARY = mappings({"1": ("primary", WARNING)})
REASON_NUMBERS = mappings({"1": ("N/A", NEUTRAL), "2": ("no permission", WARNING), "3": ("failed", CRITICAL)})
_URGENT = {XidClass.RESET: CRITICAL, XidClass.NODE: CRITICAL, XidClass.FOLLOW: WARNING, XidClass.UNKNOWN: WARNING}
MEANINGS = mappings({str(xid.code): (xid.name, _URGENT.get(xid.belongs_to, NEUTRAL)) for xid in XIDS})
"""The meanings of XIDs by code, as the diagnosis defines them."""
ACTIONS = mappings({str(xid.code): (xid.action, _URGENT.get(xid.belongs_to, NEUTRAL)) for xid in XIDS})
RECOVERY = mappings({
    "0": ("none", GOOD), "1": ("reset the GPU", CRITICAL), "2": ("restart the host", CRITICAL),
    "3": ("stop peer-to-peer traffic", WARNING), "4": ("drain, then reset", CRITICAL),
    "5": ("recover the IMEX domain", CRITICAL), "6": ("reset the bus", CRITICAL),
    "7": ("restart the whole system", CRITICAL), "8": ("see the driver's log", WARNING),
})  # fmt: skip
SEVERITIES = mappings({
    "critical": ("critical", CRITICAL), "warning": ("warning", WARNING), "info": ("info", NOTE),
})  # fmt: skip
REASONS = mappings({
    "absent": ("N/A: no such hardware", NEUTRAL), "unsupported": ("N/A: not supported by the device", NEUTRAL),
    "denied": ("no permission: `flyball host` shows what to do", WARNING),
    "failed": ("failed", CRITICAL), "timed_out": ("failed: no answer within the time limit", CRITICAL),
    "stale": ("failed: an old value is repeated", CRITICAL), "unknown": ("failed", CRITICAL),
})  # fmt: skip


def option(name: str, value: object) -> DynamicConfigValue:
    """Build one property of an override."""
    return DynamicConfigValue(id_val=name, value=value)


def limit_line() -> list[DynamicConfigValue]:
    """Draw a series as a limit: dashed and not filled."""
    return [
        option("custom.lineStyle", {"fill": "dash", "dash": [8, 8]}),
        option("custom.fillOpacity", 0),
        option("color", {"mode": "fixed", "fixedColor": CRITICAL}),
    ]
