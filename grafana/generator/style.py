"""Colours, limits and words that mean the same on every dashboard."""

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

GOOD, NOTE, WARNING, CRITICAL, CALM = "green", "blue", "orange", "red", "#808080"

Steps = tuple[tuple[float | None, str], ...]
USAGE: Steps = ((None, GOOD), (0.8, WARNING), (0.95, CRITICAL))
"""For ratios of which much is bad."""
STALLS: Steps = ((None, GOOD), (0.1, WARNING), (0.4, CRITICAL))
"""For shares of time in which work stands still."""
BUSY: Steps = ((None, CRITICAL), (0.4, WARNING), (0.75, GOOD))
"""For GPUs: of their utilization little is bad."""
ANY_IS_BAD: Steps = ((None, GOOD), (1, CRITICAL))
ANY_IS_ODD: Steps = ((None, GOOD), (1, WARNING))
MARGIN: Steps = ((None, CRITICAL), (5, WARNING), (15, GOOD))
"""Degrees left before a GPU slows down."""
PLAIN: Steps = ((None, NOTE),)
TIME_LEFT: Steps = ((None, CRITICAL), (600, WARNING), (3600, NOTE))

NO_VALUE = "not reported"
"""What a panel says when nobody told a value: never zero. Why, is told by the panels on silent readings."""


def thresholds(steps: Steps) -> ThresholdsConfig:
    """Absolute limits."""
    return (
        ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(value=value, color=color) for value, color in steps])
    )


def words(meanings: dict[str, tuple[str, str]]) -> list[ValueMapping]:
    """Values as words with a colour."""
    options = {
        value: ValueMappingResult(text=text, color=color, index=index)
        for index, (value, (text, color)) in enumerate(meanings.items())
    }
    return [ValueMap(options=options)]


UP = words({"1": ("up", GOOD), "0": ("silent", CRITICAL)})
WORKS = words({"1": ("works", GOOD), "0": ("fails", CRITICAL)})
HELD = words({"0": ("free", GOOD), "1": ("held back", CRITICAL)})
YES_NO = words({"0": ("no", GOOD), "1": ("yes", CRITICAL)})
STANDS = words({"1": ("info", NOTE), "2": ("warning", WARNING), "3": ("critical", CRITICAL)})
ACTIVE = words({"1": ("advised", NOTE)})
PRIMARY = words({"1": ("binds", WARNING)})
CODES = words({"1": ("N/A", CALM), "2": ("not permitted", WARNING), "3": ("collection failed", CRITICAL)})
_URGENT = {XidClass.RESET: CRITICAL, XidClass.NODE: CRITICAL, XidClass.FOLLOW: WARNING, XidClass.UNKNOWN: WARNING}
MEANINGS = words({str(xid.code): (xid.name, _URGENT.get(xid.belongs_to, CALM)) for xid in XIDS})
"""Of XIDs, by code: as the diagnosis has them."""
ACTIONS = words({str(xid.code): (xid.action, _URGENT.get(xid.belongs_to, CALM)) for xid in XIDS})
RECOVERY = words({
    "0": ("none", GOOD), "1": ("reset the GPU", CRITICAL), "2": ("reboot the host", CRITICAL),
    "3": ("drain peer-to-peer", WARNING), "4": ("drain, then reset", CRITICAL),
})  # fmt: skip
SEVERITIES = words({
    "critical": ("critical", CRITICAL), "warning": ("warning", WARNING), "info": ("info", NOTE),
})  # fmt: skip
UNAVAILABLE = words({
    "absent": ("N/A: not there", CALM), "unsupported": ("N/A: the device cannot tell", CALM),
    "denied": ("not permitted: see the remedy in `flyball host`", WARNING),
    "failed": ("collection failed", CRITICAL), "timed_out": ("collection failed: no answer in time", CRITICAL),
    "stale": ("collection failed: an old value is repeated", CRITICAL), "unknown": ("collection failed", CRITICAL),
})  # fmt: skip


def option(name: str, value: object) -> DynamicConfigValue:
    """One property of an override."""
    return DynamicConfigValue(id_val=name, value=value)


def limit_line() -> list[DynamicConfigValue]:
    """A series that is a limit: dashed, and not filled."""
    return [
        option("custom.lineStyle", {"fill": "dash", "dash": [8, 8]}),
        option("custom.fillOpacity", 0),
        option("color", {"mode": "fixed", "fixedColor": CRITICAL}),
    ]
