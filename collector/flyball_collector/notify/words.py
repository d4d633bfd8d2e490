"""An entry in the words of notifications: alert names, labels, annotations, links."""

from dataclasses import dataclass
from urllib.parse import quote

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.timeline.entry import Entry

_LONGEST_LABEL = 256


@dataclass(frozen=True, slots=True)
class Links:
    """Where people find more; empty: nowhere."""

    external_url: str = ""
    runbook_url: str = ""

    def page(self, entry: Entry) -> str:
        """The page of what the entry is about."""
        base = self.external_url.rstrip("/")
        if not base:
            return ""
        return f"{base}/#/host/{quote(entry.host, safe='')}" if entry.host else f"{base}/"

    def runbook(self, entry: Entry) -> str:
        """The runbook of its kind."""
        return f"{self.runbook_url.rstrip('/')}/{alert_name(entry)}.md" if self.runbook_url else ""


_ALERTS = {
    "memory_exhaustion": "HostOomRisk",
    "thermal_slowdown": "GpuThermalRisk",
    "disk_full": "DiskFullRisk",
    "gpu_ecc": "GpuEccUncorrected",
    "power_brake": "GpuPowerBrake",
    "power_capped": "GpuPowerCapped",
    "cooling_outlier": "GpuCoolingOutlier",
    "nvlink_down": "GpuNvlinkDown",
    "pcie_degraded": "GpuPcieDegraded",
    "infiniband_flap": "InfinibandFlapping",
    "oom_kill": "HostOomKill",
    "co_tenant": "GpuCoTenant",
    "straggler": "RunStraggler",
    "fail_slow": "RunFailSlow",
    "slow_start": "RunSlowStart",
    "load_imbalance": "RunLoadImbalance",
    "step_outliers": "RunStepOutliers",
    "loss_not_finite": "RunLossNotFinite",
    "host_lost": "AgentDown",
    "gpu_not_reporting": "GpuDriverNotReporting",
    "agent_degraded": "SpoolDegraded",
}
_MILD_ALERTS = {"gpu_xid": "GpuXidWarning", "gpu_row_remap": "GpuRowRemapPending"}
_CRITICAL_ALERTS = {"gpu_xid": "GpuXidCritical", "gpu_row_remap": "GpuRowRemapFailure"}


def alert_name(entry: Entry, severity: str = "") -> str:
    """The name that Prometheus' rules for the same thing have, and its runbook; other kinds in camel case."""
    by_severity = _CRITICAL_ALERTS if (severity or entry.severity) == "critical" else _MILD_ALERTS
    if entry.kind == "memory_exhaustion" and entry.gpu:
        return "FlyballGpuOomRisk"
    camel = "".join(word.capitalize() for word in entry.kind.split("_"))
    return f"Flyball{by_severity.get(entry.kind) or _ALERTS.get(entry.kind) or camel}"


def labels(entry: Entry, *, severity: str = "") -> dict[str, str]:
    """What identifies an alert: without what is empty, for that is the same as absent."""
    told = {
        "alertname": alert_name(entry, severity),
        "kind": entry.kind,
        "severity": severity or entry.severity,
        "instance": entry.host,
        "gpu": entry.gpu,
        "run": entry.run,
        "rank": "" if entry.rank is None else str(entry.rank),
        "resource": entry.resource,
    }
    return {name: _plain(value) for name, value in told.items() if value}


def annotations(entry: Entry, links: Links) -> dict[str, str]:
    """For people: what the kind means, what was seen, and what to do."""
    told = {
        "summary": summary(entry.kind),
        "description": description(entry),
        "runbook_url": links.runbook(entry),
    }
    return {name: value for name, value in told.items() if value}


def summary(kind: str) -> str:
    """Always the same for a kind."""
    known = BY_NAME.get(kind)
    return known.meaning if known else kind


def description(entry: Entry) -> str:
    """What was seen, where, how sure, and how long there is."""
    words = f"{entry.words()}: {entry.because}" if entry.because else entry.words()
    if entry.stands and entry.seconds_left:  # 0: it goes on already, and the reason says so
        words += f"; {in_words(entry.seconds_left)} left"
    if entry.confidence is not None:
        words += f" ({entry.confidence:.0%} sure)"
    return _plain(words, 2000)


def in_words(seconds: float) -> str:
    """90 → 90 s, 600 → 10 min."""
    for size, unit, least in ((86400.0, "d", 172800.0), (3600.0, "h", 7200.0), (60.0, "min", 120.0)):
        if seconds >= least:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _plain(text: str, most: int = _LONGEST_LABEL) -> str:
    """Hosts' words are data: no control characters, and an end."""
    return "".join(character if character.isprintable() else "�" for character in text[:most])
