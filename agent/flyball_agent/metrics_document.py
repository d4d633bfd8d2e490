"""The agent's part of `docs/metrics.md`, from what the probes declare: `python -m flyball_agent.metrics_document`."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from flyball_agent.accelerators.catalogue import build_accelerator_probes
from flyball_agent.probes.catalogue import linux_probes
from flyball_agent.probes.probe import Probe
from flyball_agent.self_metrics import SelfMetrics, SelfProbe
from flyball_agent.settings import AgentSettings
from flyball_proto.metric import Kind, Metric

PREFIX = "flyball_"  # the exporter puts it before each declared name

HEAD = """\
# Metrics

Everything that agents read, that the diagnosis finds and that the collector says of itself, generated from the
declarations beside the code (`python -m flyball.metrics_document`; a test holds this page to them).

- Names are as Prometheus sees them; each series also has the label `instance`, the host.
- Units are base units and ratios lie between 0 and 1. Counters (`_total`) only grow while the agent lives.
- *Resolution* is the step in which a value travels and is stored. It is never finer than what the source tells.
- A *state* is a code: 0 is the first word listed, 1 the second, and so on.
- What cannot be read is missing, never zero, and its probe says why: absent, denied, unsupported, failed …
- The name of a probe is what `probes.disabled` in `agent.toml` takes.
- Where there is no procfs (macOS, BSD) one probe, `portable`, tells through psutil what it can of the same metrics:
  those of CPU, load, memory, swap, disks and networks.
"""
ACCELERATORS = "Accelerators have the same metrics whoever made them; what a vendor's driver does not tell is unknown."
OWN = "What the agent itself costs and loses, read like any other resource."


def document(hosts: Sequence[Probe], accelerators: Sequence[Probe], own: Probe) -> str:
    """The whole page."""
    sections = [HEAD, *(section(probe) for probe in hosts), accelerator_section(accelerators)]
    sections.append("\n".join([f"## {own.name}", OWN, "", *table(own.metrics)]) + "\n")
    return "\n".join(sections)


def section(probe: Probe) -> str:
    """One probe: what it reads, how often, and its metrics."""
    said = (sys.modules[type(probe).__module__].__doc__ or "").strip().partition("\n")[0]
    return "\n".join([f"## {probe.name}", f"{said} {cadence(probe)}", "", *table(probe.metrics)]) + "\n"


def accelerator_section(probes: Sequence[Probe]) -> str:
    """One table for all vendors: each metric once, with who tells it."""
    vendors: dict[Metric, list[str]] = {}
    for probe in probes:
        for metric in probe.metrics:
            vendors.setdefault(metric, []).append(probe.name)
    names = ", ".join(f"`{probe.name}`" for probe in probes)
    lines = [
        "## Accelerators",
        f"{ACCELERATORS} Probes: {names}.",
        "",
        "| metric | kind | unit | resolution | labels | told by | meaning |",
    ]
    lines.append("|---|---|---|---|---|---|---|")
    lines += [row(metric, ", ".join(told_by)) for metric, told_by in vendors.items()]
    return "\n".join(lines) + "\n"


def cadence(probe: Probe) -> str:
    """How often a probe is read."""
    return f"Every {probe.every_seconds:g} s." if probe.every_seconds > 1 else "Each tick."


def table(metrics: Iterable[Metric]) -> list[str]:
    """A table of metrics."""
    return ["| metric | kind | unit | resolution | labels | meaning |", "|---|---|---|---|---|---|", *map(row, metrics)]


def row(metric: Metric, told_by: str | None = None) -> str:
    """One metric."""
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    cells = [f"`{PREFIX}{metric.name}`", metric.kind.name.lower(), metric.unit, resolution(metric), labels]
    cells += [told_by] if told_by is not None else []
    return "| " + " | ".join([*cells, meaning(metric)]) + " |"


def resolution(metric: Metric) -> str:
    """The step in which values travel; a state has none."""
    return "" if metric.kind is Kind.STATE else f"{1 / metric.scale:g}"


def meaning(metric: Metric) -> str:
    """The help, and the words of a state; a bar would end the cell."""
    states = f" ({', '.join(metric.states)})" if metric.states else ""
    return (metric.help + states).replace("|", "\\|")


def build() -> str:
    """The page of the probes as they are."""
    settings = AgentSettings()
    return document(linux_probes(settings), build_accelerator_probes(settings), SelfProbe(SelfMetrics()))


def main(arguments: Sequence[str]) -> int:
    """Write the page to the file named, else to the standard output."""
    if arguments:
        Path(arguments[0]).write_text(build(), encoding="utf-8")
    else:
        sys.stdout.write(build())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
