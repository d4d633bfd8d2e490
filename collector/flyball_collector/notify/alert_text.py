"""The texts of notifications: alert names, labels, annotations and links of an entry."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from flyball_collector.diagnosis.number_format import duration
from flyball_collector.notify.adjustment_kinds import ADJUSTMENT_KINDS, WAITS_FOR_APPROVAL, meaning
from flyball_collector.timeline.entry import Entry

_MAX_LABEL = 256


def no_runs(_: Entry) -> str:
    """Return no words. The default where runs are unknown."""
    return ""


@dataclass(frozen=True, slots=True)
class Links:
    """Base addresses of links (empty: no link), and the runs that an entry concerns."""

    external_url: str = ""
    runbook_url: str = ""
    runs: Callable[[Entry], str] = no_runs  # names with users, in words

    def page(self, entry: Entry) -> str:
        """Return the address of the page about the entry's subject."""
        base = self.external_url.rstrip("/")
        if not base:
            return ""
        if entry.run and (not entry.host or entry.kind in ADJUSTMENT_KINDS):
            return f"{base}/#/runs/{quote(entry.run, safe='')}"
        return f"{base}/#/host/{quote(entry.host, safe='')}" if entry.host else f"{base}/"

    def runbook(self, entry: Entry) -> str:
        """Return the address of the runbook. There is none for an adjustment that waits: its text has the command."""
        if not self.runbook_url or entry.kind == WAITS_FOR_APPROVAL:
            return ""
        return f"{self.runbook_url.rstrip('/')}/{alert_name(entry)}.md"


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
    """Return the alert's name, which the Prometheus rules and the runbooks share, or the kind in camel case."""
    by_severity = _CRITICAL_ALERTS if (severity or entry.severity) == "critical" else _MILD_ALERTS
    if entry.kind == "memory_exhaustion" and entry.gpu:
        return "FlyballGpuOomRisk"
    camel = "".join(word.capitalize() for word in entry.kind.split("_"))
    return f"Flyball{by_severity.get(entry.kind) or _ALERTS.get(entry.kind) or camel}"


def labels(entry: Entry, *, severity: str = "") -> dict[str, str]:
    """Return the labels that identify an alert, without empty ones, which mean the same as missing ones."""
    values = {
        "alertname": alert_name(entry, severity),
        "kind": entry.kind,
        "severity": severity or entry.severity,
        "instance": entry.host,
        "gpu": entry.gpu,
        "run": entry.run,
        "rank": "" if entry.rank is None else str(entry.rank),
        "resource": entry.resource,
    }
    return {name: _plain(value) for name, value in values.items() if value}


def annotations(entry: Entry, links: Links) -> dict[str, str]:
    """Return the texts for people: meaning, observation, runs with their users, the page and the runbook."""
    texts = {
        "summary": meaning(entry.kind),
        "description": description(entry),
        "run": _plain(links.runs(entry)),
        "page_url": links.page(entry),
        "runbook_url": links.runbook(entry),
    }
    return {name: value for name, value in texts.items() if value}


def description(entry: Entry) -> str:
    """Return the observation with its place, its confidence and the time left."""
    text = f"{entry.subject_text()}: {entry.because}" if entry.because else entry.subject_text()
    if entry.is_active and entry.seconds_left:  # 0: it happens already, as the reason states
        text += f"; {duration(entry.seconds_left)} left"
    if entry.confidence is not None:
        text += f" ({100 * entry.confidence:.0f} % confidence)"
    return _plain(text, 2000)


def _plain(text: str, limit: int = _MAX_LABEL) -> str:
    """Return a host's text without control characters, and shortened."""
    return "".join(character if character.isprintable() else "�" for character in text[:limit])
