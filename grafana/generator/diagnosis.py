"""Panels of the diagnosis that several dashboards share. Each dashboard passes its own selectors."""

from collections.abc import Mapping

from grafana_foundation_sdk.models.dashboard import Panel

from grafana.generator import style
from grafana.generator.board import dashboard_url, named_part
from grafana.generator.panels import column, linked, listing, timeline
from grafana.generator.queries import over, rows

TO_HOST = dashboard_url("host", instance="${__data.fields.Host}")
TO_GPU = dashboard_url("gpu", instance="${__data.fields.Host}", gpu="${__data.fields.GPU}")
TO_RUN = dashboard_url("run", run="${__data.fields.Run}")
_PROBLEMS = {"warning": 2, "critical": 3}
_NOTE = 1
_SUBJECT = "instance, gpu, index, resource, run, rank"


_SEVERITY_COLUMN = [
    style.option("mappings", style.SEVERITIES),
    style.option("custom.cellOptions", {"type": "color-text"}),
]
Sources = Mapping[str, str]
"""Selectors, each with an expression that narrows it (`and on (…) …`), or an empty string."""


def conditions(sources: Sources, *, span: int = 12, height: int = 9) -> Panel:
    """Show which conditions were active when. Equal notes about several GPUs of a host are one line."""
    problems = named_part(f"max by (kind, {_SUBJECT}) ({_conditions(sources, _PROBLEMS)})")
    notes = f"max by (kind, instance, resource, run) ({_conditions(sources, {'info': _NOTE})})"
    return timeline(
        "Problems over time",
        "Active conditions, from when they were raised until they were cleared, coloured by severity. Equal notes "
        "about several GPUs of a host are one line.",
        over(problems, "{{kind}} {{instance}} {{part}} {{resource}} {{run}} {{rank}}"),
        over(notes, "{{kind}} {{instance}} {{resource}} {{run}}"),
        mappings=style.SEVERITY_NUMBERS,
        empty="No problems in this time range",
        span=span,
        height=height,
    )


def _conditions(sources: Sources, severities: Mapping[str, int]) -> str:
    """Write the active conditions of some severities, with a number for each."""
    return " or ".join(
        f'flyball_condition_active{selector[:-1]}, severity="{severity}"}} * {number} {narrowed}'.rstrip()
        for selector, narrowed in sources.items()
        for severity, number in severities.items()
    )


def problems(selector: str, *, span: int = 12, height: int = 9) -> Panel:
    """List the active conditions with their evidence. Equal notes about several GPUs of a host are one row."""
    notes = f'flyball_condition_active{selector[:-1]}, severity="info"}}'
    return listing(
        "Active problems",
        "Conditions that were raised and are not yet cleared, with the evidence in words and how sure it is. Equal "
        "notes about several GPUs of a host are one row; the last column counts them.",
        {
            "severity": "Severity",
            "kind": "Condition",
            "instance": "Host",
            "index": "GPU",
            "resource": "Resource",
            "run": "Run",
            "rank": "Rank",
            "because": "Evidence",
            "confidence": "Sure",
            "Value": "Number",
        },
        rows(f"flyball_condition_info{selector} or count by (kind, severity, instance, resource, run) ({notes})"),
        overrides={
            "Severity": _SEVERITY_COLUMN,
            "Host": linked("Host", TO_HOST),
            "Run": linked("Run", TO_RUN),
        },
        empty="No active problems",
        span=span,
        height=height,
    )


def alerts(sources: Sources, *, span: int = 24, height: int = 7) -> Panel:
    """List the alerts that Prometheus fires now."""
    firing = " or ".join(
        f'ALERTS{selector[:-1]}, alertname=~"Flyball.+", alertstate="firing"}} {narrowed}'.rstrip()
        for selector, narrowed in sources.items()
    )
    return listing(
        "Firing alerts",
        "Alerts that Prometheus fires now. Needs the rules of deploy/prometheus. Alerts that Alertmanager does not "
        "send, because it mutes them, are listed too.",
        {
            "severity": "Severity",
            "alertname": "Alert",
            "instance": "Host",
            "index": "GPU",
            "resource": "Resource",
            "mount": "Mount",
            "run": "Run",
            "rank": "Rank",
        },
        rows(firing),
        overrides={
            "Severity": _SEVERITY_COLUMN,
            "Host": linked("Host", TO_HOST),
            "Run": linked("Run", TO_RUN),
        },
        empty="No alerts",
        span=span,
        height=height,
    )


def risks(selector: str, *, span: int = 12, height: int = 9) -> Panel:
    """Show which failures are predicted, and when."""
    by = "by (risk, instance, gpu, index, resource)"
    return listing(
        "Risks and time left",
        "Failures that are predicted if nothing changes: the most probable time left, the bounds of its interval, and "
        "the probability.",
        {
            "risk": "Risk",
            "instance": "Host",
            "index": "GPU",
            "resource": "Resource",
            "Value #A": "Time left",
            "Value #B": "at least",
            "Value #C": "at most",
            "Value #D": "Probability",
        },
        rows(f"min {by} (flyball_risk_left_seconds{selector})"),
        rows(f"min {by} (flyball_risk_left_low_seconds{selector})"),
        rows(f"min {by} (flyball_risk_left_high_seconds{selector})"),
        rows(f"max {by} (flyball_risk_probability_ratio{selector})"),
        overrides={
            "Time left": column("dtdurations", style.TIME_LEFT),
            "at least|at most": column("dtdurations"),
            "Probability": column("percentunit"),
            "Host": linked("Host", TO_HOST),
        },
        empty="No risks",
        span=span,
        height=height,
    )


def advice(sources: Sources, *, span: int = 12, height: int = 9) -> Panel:
    """Show what to change, and the expected gain."""
    by = "by (rule, instance, run)"
    low, high, active = (_advice(name, sources) for name in ("gain_low_ratio", "gain_high_ratio", "active"))
    return listing(
        "Advice",
        "What to change now, with the expected gain in throughput as an interval. `flyball advice` shows the reason, "
        "the effort and the safety of each piece of advice.",
        {
            "rule": "Rule",
            "instance": "Host",
            "run": "Run",
            "Value #B": "Gain, at least",
            "Value #C": "Gain, at most",
        },
        rows(f"max {by} ({active})"),
        rows(f"max {by} ({low})"),
        rows(f"max {by} ({high})"),
        sort="Gain, at most",
        overrides={"Gain, .*": column("percentunit"), "Run": linked("Run", TO_RUN), "Host": linked("Host", TO_HOST)},
        empty="No advice",
        span=span,
        height=height,
    )


def advice_over_time(sources: Sources, *, span: int = 12, height: int = 9) -> Panel:
    """Show which advice was active when."""
    active = _advice("active", sources)
    return timeline(
        "Advice over time",
        "Rules whose advice was active, from when to when.",
        over(f"max by (rule, instance, run) ({active})", "{{rule}} {{instance}} {{run}}"),
        mappings=style.ADVISED,
        empty="No advice in this time range",
        span=span,
        height=height,
    )


def unavailable_readings(selector: str, *, span: int = 12, height: int = 9) -> Panel:
    """List the probes with unavailable readings and the reasons. N/A is not a failure."""
    return listing(
        "Unavailable readings",
        "Probes of which some or all readings are unavailable, with the reason. N/A: there is nothing to read on this "
        "host. Failed: there is, but reading it failed. `flyball host HOST` shows details and what to do.",
        {"instance": "Host", "probe": "Probe", "reason": "Reason"},
        rows(f"max by (instance, probe, reason) (flyball_probe_unavailable{selector})"),
        overrides={
            "Reason": [
                style.option("mappings", style.REASONS),
                style.option("custom.cellOptions", {"type": "color-text"}),
            ]
        },
        empty="All readings are available",
        span=span,
        height=height,
    )


def unavailable_over_time(selector: str, title: str, description: str, *, span: int = 6, height: int = 8) -> Panel:
    """Show the reasons of unavailable readings over time."""
    absent, denied, failed = (
        f'flyball_probe_unavailable{selector[:-1]}, reason=~"{reasons}"}} * {number}'
        for number, reasons in ((1, "absent|unsupported"), (2, "denied"), (3, "failed|timed_out|stale|unknown"))
    )
    return timeline(
        title,
        f"{description} A gap, or no row at all: all readings of the probe are available. N/A is not a fault.",
        over(f"max by (instance, probe) ({absent} or {denied} or {failed})", "{{instance}} {{probe}}"),
        mappings=style.REASON_NUMBERS,
        empty="All readings were available",
        span=span,
        height=height,
    )


def _advice(name: str, sources: Sources) -> str:
    return " or ".join(f"flyball_advice_{name}{each} {narrowed}".rstrip() for each, narrowed in sources.items())
