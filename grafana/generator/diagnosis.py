"""Panels of the diagnosis that several dashboards show, each for its own selection of series."""

from collections.abc import Mapping

from grafana_foundation_sdk.models.dashboard import Panel

from grafana.generator import style
from grafana.generator.board import place
from grafana.generator.panels import column, linked, listing, timeline
from grafana.generator.queries import over, rows

TO_HOST = place("host", instance="${__data.fields.Host}")
TO_GPU = place("gpu", instance="${__data.fields.Host}", gpu="${__data.fields.GPU}")
TO_RUN = place("run", run="${__data.fields.Run}")
_SEVERITIES = {"info": 1, "warning": 2, "critical": 3}
_WHERE = "instance, gpu, resource, run, rank"


Sources = Mapping[str, str]
"""Selectors, each with what narrows it further: `and on (…) …`, or nothing."""


def conditions(sources: Sources, *, span: int = 12, height: int = 9) -> Panel:
    """What stood when."""
    each = " or ".join(
        f'flyball_condition_active{selector[:-1]}, severity="{severity}"}} * {code} {narrowed}'.rstrip()
        for selector, narrowed in sources.items()
        for severity, code in _SEVERITIES.items()
    )
    return timeline(
        "Conditions over time",
        "What was raised, from when to when, and how severe. No row: nothing was raised.",
        over(f"max by (kind, {_WHERE}) ({each})", "{{kind}} {{instance}} {{gpu}} {{resource}} {{run}} {{rank}}"),
        mappings=style.STANDS,
        span=span,
        height=height,
    )


def risks(selector: str, *, span: int = 12, height: int = 9) -> Panel:
    """What will break, and when."""
    by = "by (risk, instance, gpu, resource)"
    return listing(
        "Risks, with time left",
        "What will break if it goes on so: the median of the forecast, the bounds of its interval, and the "
        "probability. No row: nothing is forecast.",
        {
            "risk": "Risk",
            "instance": "Host",
            "gpu": "GPU",
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
            "GPU": linked("GPU", TO_GPU),
        },
        span=span,
        height=height,
    )


def advice(sources: Sources, *, span: int = 12, height: int = 9) -> Panel:
    """What to change, and what it should bring."""
    by = "by (rule, instance, run)"
    low, high, active = (_advice(name, sources) for name in ("gain_low_ratio", "gain_high_ratio", "active"))
    return listing(
        "Advice",
        "What to change now, with the gain in throughput that it should bring, as an interval. `flyball advice` tells "
        "why, how much work it is, and whether it is safe. No row: nothing is advised.",
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
        span=span,
        height=height,
    )


def advice_over_time(sources: Sources, *, span: int = 12, height: int = 9) -> Panel:
    """When what was advised."""
    active = _advice("active", sources)
    return timeline(
        "Advice over time",
        "When which rule advised something. No row: nothing was advised.",
        over(f"max by (rule, instance, run) ({active})", "{{rule}} {{instance}} {{run}}"),
        mappings=style.ACTIVE,
        span=span,
        height=height,
    )


def unavailable(selector: str, *, span: int = 12, height: int = 9) -> Panel:
    """N/A is not “collection failed”."""
    return listing(
        "Why readings are silent",
        "Probes that do not give some or all of their readings. N/A: there is nothing to read. Collection failed: "
        "there is, and reading it went wrong. `flyball host HOST` tells the detail and a remedy.",
        {"instance": "Host", "probe": "Probe", "reason": "Reason"},
        rows(f"max by (instance, probe, reason) (flyball_probe_unavailable{selector})"),
        overrides={
            "Reason": [
                style.option("mappings", style.UNAVAILABLE),
                style.option("custom.cellOptions", {"type": "color-text"}),
            ]
        },
        span=span,
        height=height,
    )


def reason_codes(selector: str, title: str, what: str, *, span: int = 6, height: int = 8) -> Panel:
    """The same over time, for the probes of one sort."""
    calm, denied, failed = (
        f'flyball_probe_unavailable{selector[:-1]}, reason=~"{reasons}"}} * {code}'
        for code, reasons in ((1, "absent|unsupported"), (2, "denied"), (3, "failed|timed_out|stale|unknown"))
    )
    return timeline(
        title,
        f"{what} A gap in a row, or no row: the probe reads all it should. N/A is not a fault; “collection failed” is.",
        over(f"max by (instance, probe) ({calm} or {denied} or {failed})", "{{instance}} {{probe}}"),
        mappings=style.CODES,
        span=span,
        height=height,
    )


def _advice(name: str, sources: Sources) -> str:
    return " or ".join(f"flyball_advice_{name}{each} {narrowed}".rstrip() for each, narrowed in sources.items())
