"""The report of a profiled command: facts by resource, scores, and plots over time."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from flyball.command.output import CommandResult
from flyball.command.printable import printable
from flyball.profiling.profile_file import profile_document
from flyball.profiling.resource_snapshot import MEGABYTE
from flyball.profiling.sampler import NOT_REQUESTED
from flyball_planner.base_formula import BASE_NAMES, CPU_BUSY, DISK_BYTES_PER_SECOND, LATENCY_SECONDS, MEMORY_USED
from flyball_reports.figures import duration, percent, plural, rate
from flyball_reports.section import Chart, ReportTable, Section

if TYPE_CHECKING:
    from flyball.profiling.command_profile import CommandProfile
    from flyball.profiling.profiling_summary import ProfilingSummary
    from flyball.profiling.resource_snapshot import ResourceSnapshot

Facts = list[tuple[str, str]]

_TITLE_CHARACTERS = 80
_MOST_CORES = 16  # in one line
_STEADY_SECONDS = 10.0  # before this, the first samples are most of the profiler's cost
_LIMITS = {
    "cpu": f"{percent(CPU_BUSY)} of the CPUs",
    "memory": f"{percent(MEMORY_USED)} of the RAM",
    "disk": f"{rate(DISK_BYTES_PER_SECOND, 'B/s')} written",
    "network": f"{duration(LATENCY_SECONDS)} a round trip",
}


def report_of(profile: "CommandProfile") -> CommandResult:
    """Return the report of a profile."""
    command = [os.fsencode(word).decode("utf-8", "replace") for word in profile.command]
    words = printable(shlex.join(command))
    title = words if len(words) <= _TITLE_CHARACTERS else f"{words[: _TITLE_CHARACTERS - 1]}…"
    summary = profile.summary
    document = profile_document(summary, profile.snapshots, command) | {
        "exit_status": profile.status,
        "processes_left_running": profile.running,
    }
    missing = tuple(
        f"{name.replace('_', ' ')}: {reason}" for name, reason in summary.unavailable.items() if reason != NOT_REQUESTED
    )
    sections = [
        _facts("", _outline(profile)),
        _facts("CPU", _cpu(summary)),
        _facts("Memory", _memory(summary)),
        _facts("Disk", _disk(summary)),
        _facts("Latency", _latency(summary)),
        Section("Scores", tables=(_scores(summary),)),
        Section("Unknown", points=missing),
    ]
    shown = [section for section in sections if section.points or any(table.rows for table in section.tables)]
    return CommandResult(f"Profile of {title}", shown, document, lambda: _charts(profile.snapshots))


def _facts(title: str, rows: Facts) -> Section:
    return Section(title, tables=(ReportTable(tuple(rows)),))


def _outline(profile: "CommandProfile") -> Facts:
    summary = profile.summary
    rows = [
        ("Time", f"{duration(summary.duration_seconds)}, {plural(summary.snapshots, 'sample')}"),
        ("Exit status", str(profile.status)),
    ]
    if summary.primary_bottleneck:
        confidence = percent(summary.bottleneck_confidence)
        rows.append(("Bottleneck", f"{summary.primary_bottleneck} (confidence {confidence})"))
    if summary.peak_processes:
        threads = plural(summary.peak_threads, "thread")
        rows.append(("Processes", f"at most {summary.peak_processes} at once, with {threads}"))
    if profile.running:
        rows.append(("Still running", f"{profile.running} of them when the command ended"))
    return rows


def _cpu(summary: "ProfilingSummary") -> Facts:
    rows: Facts = []
    if summary.cpu_avg_percent is not None and summary.cpu_seconds is not None:
        rows.append(("Command", f"{summary.cpu_avg_percent:.0f} % of a core ({duration(summary.cpu_seconds)})"))
    if summary.machine_cpu_avg_percent is not None:
        rows.append(("Machine", f"{summary.machine_cpu_avg_percent:.0f} % of all cores"))
    if cores := summary.cpu_avg_percent_per_core:
        shown = " ".join(f"{core:.0f}" for core in cores)
        rows.append(("Cores", f"{shown} %" if len(cores) <= _MOST_CORES else f"{min(cores):.0f} … {max(cores):.0f} %"))
    if summary.profiler_cpu_percent is not None and summary.duration_seconds >= _STEADY_SECONDS:
        rows.append(("Profiler", f"{summary.profiler_cpu_percent:.2f} % of a core"))
    return rows


def _memory(summary: "ProfilingSummary") -> Facts:
    rows = [
        ("Peak", _megabytes(summary.peak_memory_mb)),
        ("Average", _megabytes(summary.memory_avg_mb)),
        ("GPU, peak", _megabytes(summary.peak_gpu_memory_mb)),
    ]
    if summary.machine_memory_peak_percent is not None:
        rows.append(("Machine, peak", f"{summary.machine_memory_peak_percent:.0f} % of the RAM"))
    return [row for row in rows if row[1]]


def _disk(summary: "ProfilingSummary") -> Facts:
    rows = []
    for name, transferred, operations in (
        ("Read", summary.disk_read_bytes, summary.disk_read_operations),
        ("Written", summary.disk_write_bytes, summary.disk_write_operations),
    ):
        if transferred is not None and operations is not None:
            rows.append((name, f"{rate(transferred, 'B')}, {plural(operations, 'operation')}"))
    return rows


def _latency(summary: "ProfilingSummary") -> Facts:
    rows = []
    for name, mean, p95 in (
        ("API", summary.api_latency_ms, summary.api_latency_p95_ms),
        ("Localhost", summary.localhost_latency_ms, summary.localhost_latency_p95_ms),
    ):
        if mean is not None and p95 is not None:
            rows.append((name, f"{duration(mean / 1000)} (p95 {duration(p95 / 1000)})"))
    return rows


def _scores(summary: "ProfilingSummary") -> ReportTable:
    known = [(name, summary.base_scores.get(name)) for name in BASE_NAMES]
    rows = [(name, f"{score:.2f}", _LIMITS[name]) for name, score in known if score is not None]
    return ReportTable(tuple(rows), ("Resource", "Score", "1.00 is"), (1,))


def _megabytes(value: float | None) -> str:
    """Format an amount of 10⁶ bytes; empty if unknown."""
    return "" if value is None else rate(value * MEGABYTE, "B")


def _charts(snapshots: "Sequence[ResourceSnapshot]") -> Mapping[str, Chart]:
    from flyball.command.time_chart import TimeLine, time_chart

    def line(name: str, value: "Callable[[ResourceSnapshot], float | None]") -> TimeLine:
        points = ((each.elapsed_seconds, value(each)) for each in snapshots)
        return TimeLine(name, tuple((at, known) for at, known in points if known is not None))

    found = {
        "CPU": time_chart(
            "CPU of the command; 100 % is one core. Of the machine, 100 % is all cores.",
            "%",
            [line("command", lambda each: each.cpu_percent), line("machine", lambda each: each.machine_cpu_percent)],
        ),
        "Memory": time_chart("Resident memory of the command.", "MB", [line("command", lambda each: each.memory_mb)]),
        "Disk": time_chart(
            "Bytes since the start.",
            "MB",
            [
                line("read", lambda each: _in_megabytes(each.disk_read_bytes)),
                line("written", lambda each: _in_megabytes(each.disk_write_bytes)),
            ],
        ),
        "Latency": time_chart(
            "Round-trip times.",
            "ms",
            [
                line("API", lambda each: _in_milliseconds(each.api_latency_seconds)),
                line("localhost", lambda each: _in_milliseconds(each.localhost_latency_seconds)),
            ],
        ),
    }
    return {title: chart for title, chart in found.items() if chart is not None}


def _in_megabytes(transferred: int | None) -> float | None:
    return None if transferred is None else transferred / MEGABYTE


def _in_milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
