"""For tests of probes: fixture trees in place of `/proc` and `/sys`, and the laws that every sample keeps."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from flyball_agent.probes.columns import resource_name
from flyball_agent.probes.probe import Sample, Value
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import UnavailableReading


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    """Write files under a root; a text that begins with `->` makes a symbolic link."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text[2:])
        else:
            path.write_text(text, encoding="utf-8")
    return root


def values_by_name(sample: Sample) -> dict[tuple[str, ...], Value]:
    """Values by metric name and labels."""
    return {
        (column.metric.name, *column.labels): value for column, value in zip(sample.columns, sample.values, strict=True)
    }


def broken_laws(sample: Sample) -> Iterator[str]:
    """What is wrong with a sample: doubled columns, missing values without a reason, values that cannot be."""
    names = [(column.metric.name, *column.labels) for column in sample.columns]
    if len(names) != len(set(names)):
        yield "a column is doubled"
    for column, value in zip(sample.columns, sample.values, strict=True):
        where = f"{column.metric.name}{column.labels}"
        if value is None:
            if not any(
                explains(unavailable_reading, column.metric.name, resource_name(column))
                for unavailable_reading in sample.unavailable
            ):
                yield f"{where} is missing without a reason"
        elif not is_possible(column.metric, value):
            yield f"{where} is {value}"


def is_possible(metric: Metric, value: float) -> bool:
    """Shares are shares, states have names, and only temperatures are below zero."""
    if metric.states:
        return 0 <= value < len(metric.states)
    return 0 <= value <= 1 if metric.unit == "ratio" else value >= 0 or metric.unit == "celsius"


def explains(unavailable_reading: UnavailableReading, metric: str, resource: str) -> bool:
    """Whether a unavailable reading speaks of this column."""
    return unavailable_reading.metric in {"", metric} and unavailable_reading.resource in {"", resource}
