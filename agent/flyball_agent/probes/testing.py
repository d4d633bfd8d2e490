"""Helpers for tests of probes: fixture trees instead of `/proc` and `/sys`, and the rules for every sample."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from flyball_agent.probes.columns import resource_name
from flyball_agent.probes.probe import ProbeSample, Value
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import UnavailableReading


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    """Write files under a root. A text that begins with `->` creates a symbolic link."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text[2:])
        else:
            path.write_text(text, encoding="utf-8")
    return root


def values_by_name(sample: ProbeSample) -> dict[tuple[str, ...], Value]:
    """Return the values by metric name and labels."""
    return {
        (column.metric.name, *column.labels): value for column, value in zip(sample.columns, sample.values, strict=True)
    }


def broken_rules(sample: ProbeSample) -> Iterator[str]:
    """Yield what is wrong with a sample: duplicate columns, missing values without a reason, impossible values."""
    names = [(column.metric.name, *column.labels) for column in sample.columns]
    if len(names) != len(set(names)):
        yield "a column occurs twice"
    for column, value in zip(sample.columns, sample.values, strict=True):
        where = f"{column.metric.name}{column.labels}"
        if value is None:
            name, resource = column.metric.name, resource_name(column)
            if not any(explains(missing, name, resource) for missing in sample.unavailable):
                yield f"{where} is missing without a reason"
        elif not is_possible(column.metric, value):
            yield f"{where} is {value}"


def is_possible(metric: Metric, value: float) -> bool:
    """Return True for a ratio between 0 and 1, a state with a name, and any other value that is not negative."""
    if metric.states:
        return 0 <= value < len(metric.states)
    return 0 <= value <= 1 if metric.unit == "ratio" else value >= 0 or metric.unit == "celsius"


def explains(missing: UnavailableReading, metric: str, resource: str) -> bool:
    """Return True if an unavailable reading covers this metric and resource."""
    return missing.metric in {"", metric} and missing.resource in {"", resource}
