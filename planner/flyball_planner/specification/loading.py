"""The section `loading`: data loading."""

from collections.abc import Mapping
from typing import Any

from flyball_planner.configurations.streaming import HABITS, Disk
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.loading import Loading
from flyball_reports.specification.sections import SpecificationFaults

MILLION = 1e6
NEEDED_BY = (
    ("bytes_per_sample", ("storage", "storage_mb_per_second"), "the speed of the storage"),
    ("storage", ("bytes_per_sample",), "the size of a sample"),
    ("storage_mb_per_second", ("bytes_per_sample",), "the size of a sample"),
    ("cpu_ms_per_sample", ("workers",), "the number of processes that prepare samples"),
    ("workers", ("cpu_ms_per_sample", "bytes_per_sample", "samples_per_second"), "the work of the workers"),
)
"""A key, the keys of which at least one must accompany it, and what they specify."""


def read_loading(
    values: Mapping[str, Any], subject: TransformerShape | ModelCost, faults: SpecificationFaults
) -> Loading | None:
    """Return the properties of data loading; nothing if the section is missing or has a fault, which is reported."""
    if not values:
        return None
    if isinstance(subject, ModelCost) and not subject.trained_by_gradient:
        faults.add("loading", f"{subject.model} reads its data once and keeps it in memory; remove this section")
        return None
    for key, others, meaning in NEEDED_BY:
        if key in values and not any(other in values for other in others):
            faults.add(f"loading.{key}", f"has no effect without {' or '.join(others)}, {meaning}")
    if "storage" in values and "storage_mb_per_second" in values:
        faults.add("loading.storage", "conflicts with storage_mb_per_second; keep one of them")
    return Loading(
        samples_per_second=values.get("samples_per_second"),
        bytes_per_sample=values.get("bytes_per_sample", 0.0),
        storage_bytes_per_second=_bandwidth(values),
        core_seconds_per_sample=values.get("cpu_ms_per_sample", 0.0) / 1e3,
        workers=values.get("workers"),
    )


def _bandwidth(values: Mapping[str, Any]) -> float | None:
    if "storage_mb_per_second" in values:
        return float(values["storage_mb_per_second"] * MILLION)
    return HABITS[Disk(values["storage"])].bytes_per_second if "storage" in values else None
