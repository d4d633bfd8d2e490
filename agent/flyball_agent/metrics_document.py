"""The agent's part of `docs/metrics.md`, from the metrics that probes declare."""

import sys
from collections.abc import Iterable, Sequence

from flyball_agent.accelerators.catalogue import build_accelerator_probes
from flyball_agent.probes.catalogue import linux_probes
from flyball_agent.probes.probe import Probe
from flyball_agent.self_metrics import SelfMetrics, SelfProbe
from flyball_agent.settings import AgentSettings
from flyball_proto.metric import Kind, Metric

PREFIX = "flyball_"  # the exporter adds it to each declared name

HEAD = """\
# Metrics

All metrics of the agents, the diagnosis and the collector. This page is generated from the declarations in the code
with `make generated`; a test checks that it is up to date.

- An agent takes a sample at each *tick*: every second, unless `interval_seconds` is changed. A *probe* is the part of
  the agent that reads one source, such as `/proc/stat`. Each of the following sections is one probe, up to the section
  *Accelerators*.
- Names are those in Prometheus. The label `instance` of each series is the host's name.
- Values are in base units (seconds, bytes, watts), and ratios are between 0 and 1. Counters (`_total`) never fall while
  the agent runs.
- *Resolution*: values are rounded to this step before they are sent and stored. The source may be coarser.
- *State*: the value is the position of a word in the list in brackets: 0 for the first word, 1 for the second.
- *Boolean*: 1 for yes, 0 for no.
- A metric that cannot be read has no value; it is never reported as zero. `flyball host HOST` lists the reason: not
  present, no permission, not supported, failed, timed out or does not change. In JSON and metrics these are `absent`,
  `denied`, `unsupported`, `failed`, `timed_out` and `stale`.
- To disable a probe, add its name to `probes.disabled` in `agent.toml`.
- On systems without procfs (macOS, BSD) one probe, `portable`, replaces those of Linux. It reads some of their metrics
  with psutil: CPU, load, memory, swap, disks and networks.
"""
ACCELERATORS = (
    "GPUs and other accelerators of all vendors have the same metrics. A metric that the driver does not provide has "
    "no value. `gpu` is the UUID of the device, `index` its number on the host."
)
SELF = (
    "Resource use, spool and connections of the agent itself. The *spool* is its buffer on disk, which keeps records "
    "until the collector has stored them."
)


def document(hosts: Sequence[Probe], accelerators: Sequence[Probe], agent: Probe) -> str:
    """Return the page."""
    sections = [HEAD, *(section(probe) for probe in hosts), accelerator_section(accelerators)]
    sections.append("\n".join([f"## {agent.name}", SELF, "", *table(agent.metrics)]) + "\n")
    return "\n".join(sections)


def section(probe: Probe) -> str:
    """Return the section of one probe: what it reads, how often, and its metrics."""
    summary = (sys.modules[type(probe).__module__].__doc__ or "").strip().partition("\n")[0]
    return "\n".join([f"## {probe.name}", f"{summary} {cadence(probe)}", "", *table(probe.metrics)]) + "\n"


def accelerator_section(probes: Sequence[Probe]) -> str:
    """Return one table for all vendors: each metric once, with the probes that read it."""
    vendors: dict[Metric, list[str]] = {}
    for probe in probes:
        for metric in probe.metrics:
            vendors.setdefault(metric, []).append(probe.name)
    names = ", ".join(f"`{probe.name}`" for probe in probes)
    lines = [
        "## Accelerators",
        f"{ACCELERATORS} Probes: {names}.",
        "",
        "| metric | kind | unit | resolution | labels | probes | meaning |",
    ]
    lines.append("|---|---|---|---|---|---|---|")
    lines += [row(metric, ", ".join(names_of_probes)) for metric, names_of_probes in vendors.items()]
    return "\n".join(lines) + "\n"


def cadence(probe: Probe) -> str:
    """Return how often a probe is read."""
    return f"Read every {probe.every_seconds:g} s." if probe.every_seconds > 1 else "Read at each tick."


def table(metrics: Iterable[Metric]) -> list[str]:
    """Return a table of metrics as lines of Markdown."""
    return ["| metric | kind | unit | resolution | labels | meaning |", "|---|---|---|---|---|---|", *map(row, metrics)]


def row(metric: Metric, probes: str | None = None) -> str:
    """Return the table row of one metric."""
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    cells = [f"`{PREFIX}{metric.name}`", metric.kind.name.lower(), metric.unit, resolution(metric), labels]
    cells += [probes] if probes is not None else []
    return "| " + " | ".join([*cells, meaning(metric)]) + " |"


def resolution(metric: Metric) -> str:
    """Return the resolution of a metric's values; a state has none."""
    return "" if metric.kind is Kind.STATE else f"{1 / metric.scale:g}"


def meaning(metric: Metric) -> str:
    """Return the help text and the names of the states, with `|` escaped because it would end the table cell."""
    states = f" ({', '.join(metric.states)})" if metric.states else ""
    return (metric.help + states).replace("|", "\\|")


def build() -> str:
    """Return the page for all probes with the default settings."""
    settings = AgentSettings()
    return document(linux_probes(settings), build_accelerator_probes(settings), SelfProbe(SelfMetrics()))
