"""The output of `--once`: one snapshot, as text or as JSON."""

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime

from flyball_agent.snapshot import HostSnapshot, ProbeSnapshot, by_resource
from flyball_proto.layout import Column
from flyball_proto.metric import Kind
from flyball_proto.unavailable_reading import Reason, UnavailableReading

REASONS = {
    Reason.UNKNOWN: "unknown reason",
    Reason.ABSENT: "not present",
    Reason.DENIED: "no permission",
    Reason.UNSUPPORTED: "not supported",
    Reason.FAILED: "failed",
    Reason.TIMED_OUT: "timed out",
    Reason.STALE: "does not change",
}
"""The words of `flyball host` and of the page."""


def as_text(snapshot: HostSnapshot) -> str:
    """Return a snapshot as text: all probes, with values in common units and the reasons of unavailable readings."""
    when = datetime.fromtimestamp(snapshot.time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    lines = [f"{snapshot.host} at {when}, read in {_seconds(snapshot.seconds)}"]
    for probe in snapshot.probes:
        lines += ["", probe.name, *_probe_lines(probe)]
    if snapshot.processes:
        lines += ["", "processes on accelerators"]
        for process in snapshot.processes:
            memory = _bytes(process.memory_used_bytes) if process.HasField("memory_used_bytes") else "memory unknown"
            lines.append(f"  {process.pid:>8}  {process.gpu}  {memory}")
    return "\n".join(lines)


def as_json(snapshot: HostSnapshot) -> str:
    """Return a snapshot as JSON, in base units; an unknown value is `null`."""
    return json.dumps(
        {
            "host": snapshot.host,
            "time_ns": snapshot.time_ns,
            "seconds": snapshot.seconds,
            "probes": [
                {
                    "probe": probe.name,
                    "readings": [_reading(column, value) for column, value in probe.readings],
                    "unavailable": [unavailable_fields(missing) for missing in probe.unavailable],
                }
                for probe in snapshot.probes
            ],
            "gpu_processes": [
                {
                    "gpu": process.gpu,
                    "pid": process.pid,
                    "memory_used_bytes": process.memory_used_bytes if process.HasField("memory_used_bytes") else None,
                }
                for process in snapshot.processes
            ],
        },
        indent=2,
    )


def unavailable_fields(missing: UnavailableReading) -> dict[str, str]:
    """Return the fields of an unavailable reading for JSON."""
    return {
        "probe": missing.probe,
        "metric": missing.metric,
        "resource": missing.resource,
        "reason": missing.reason.word,
        "detail": missing.detail,
        "remedy": missing.remedy,
    }


def reason_words(missing: UnavailableReading) -> str:
    """Return an unavailable reading as text: what, why, and what to do."""
    what = " of ".join(part for part in (missing.metric, missing.resource) if part)
    remedy = f" → {missing.remedy}" if missing.remedy else ""
    why = REASONS[missing.reason]
    known = "" if missing.detail.endswith(why) else f"{why}: "  # the detail may state it already
    return f"{what + ': ' if what else ''}{known}{missing.detail}{remedy}"


def human(column: Column, value: float | None) -> str:
    """Return a value in a common unit."""
    metric = column.metric
    if value is None:
        return "unavailable"
    if metric.kind is Kind.STATE:
        index = int(value)
        return metric.states[index] if 0 <= index < len(metric.states) else f"state {index}"
    match metric.unit:
        case "bytes":
            return _bytes(value)
        case "boolean":
            return "yes" if value else "no"
        case "ratio":
            return f"{value * 100:.1f} %"
        case "hertz":
            return _scaled(value, "Hz")
        case "seconds":
            return _seconds(value)
        case "celsius":
            return f"{value:.1f} °C"
        case "watts" | "joules" | "volts":
            return _scaled(value, metric.unit[0].upper())
        case unit:
            if not float(value).is_integer():
                return f"{value:,.6g} {unit}"
            return f"{value:,.0f} {_singular(unit) if value == 1 else unit}"


def _singular(unit: str) -> str:
    """Return the word for one of a unit: tasks → task, processes → process. Units such as bytes/s stay."""
    if unit.endswith(("ses", "ches")):
        return unit.removesuffix("es")
    return unit.removesuffix("s") if unit.isalpha() else unit


def _probe_lines(probe: ProbeSnapshot) -> Iterator[str]:
    for resource, readings in by_resource(probe):
        indent = "  "
        if resource:
            yield f"  {resource}"
            indent = "    "
        for column, value in readings:
            yield f"{indent}{column.metric.name:<48} {human(column, value):>20}"
    for missing in probe.unavailable:
        yield f"  – {reason_words(missing)}"


def _reading(column: Column, value: float | None) -> dict[str, object]:
    return {
        "metric": column.metric.name,
        "kind": column.metric.kind.name.lower(),
        "unit": column.metric.unit,
        "labels": dict(column.label_pairs()),
        "value": None if value is None or not math.isfinite(value) else value,
    }


def _bytes(value: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} PiB"


def _scaled(value: float, unit: str) -> str:
    for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.2f} {prefix}{unit}"
    return f"{value:.2f} {unit}"


def _seconds(value: float) -> str:
    if value and abs(value) < 1:
        return f"{value * 1e3:.3f} ms" if abs(value) >= 1e-3 else f"{value * 1e6:.0f} µs"
    if value < 60:
        return f"{value:.1f} s"
    for large, small, names in ((3_600, 60, ("h", "min")), (60, 1, ("min", "s"))):
        whole, rest = divmod(round(value / small), large // small)
        if whole:
            return f"{whole:,} {names[0]}" + (f" {rest} {names[1]}" if rest else "")
    return f"{value:.0f} s"
