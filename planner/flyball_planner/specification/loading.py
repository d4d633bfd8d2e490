"""The section `loading`: how the data reach the devices."""

from collections.abc import Mapping
from typing import Any

from flyball_planner.configurations.streaming import HABITS, Disk
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.loading import Loading
from flyball_reports.specification.sections import Findings

MILLION = 1e6
BELONGING = (
    ("bytes_per_sample", ("storage", "storage_mb_per_second"), "how fast the storage is"),
    ("storage", ("bytes_per_sample",), "how large a sample is"),
    ("storage_mb_per_second", ("bytes_per_sample",), "how large a sample is"),
    ("cpu_ms_per_sample", ("workers",), "how many processes prepare samples"),
    ("workers", ("cpu_ms_per_sample", "bytes_per_sample", "samples_per_second"), "what they have to do"),
)
"""A key that says nothing without one of some others, and what these would tell."""


def read_loading(said: Mapping[str, Any], subject: TransformerShape | ModelCost, findings: Findings) -> Loading | None:
    """What is said of it; nothing where the section is left out, or has a fault, which is told."""
    if not said:
        return None
    if isinstance(subject, ModelCost) and not subject.trained_by_gradient:
        findings.add("loading", f"{subject.model} reads its data once and keeps them in memory; leave the section out")
        return None
    for key, others, told in BELONGING:
        if key in said and not any(other in said for other in others):
            findings.add(f"loading.{key}", f"says nothing without {' or '.join(others)}: {told}")
    if "storage" in said and "storage_mb_per_second" in said:
        findings.add("loading.storage", "stands beside storage_mb_per_second; keep one of them")
    return Loading(
        samples_per_second=said.get("samples_per_second"),
        bytes_a_sample=said.get("bytes_per_sample", 0.0),
        storage_bytes_per_second=_bandwidth(said),
        core_seconds_a_sample=said.get("cpu_ms_per_sample", 0.0) / 1e3,
        workers=said.get("workers"),
    )


def _bandwidth(said: Mapping[str, Any]) -> float | None:
    if "storage_mb_per_second" in said:
        return float(said["storage_mb_per_second"] * MILLION)
    return HABITS[Disk(said["storage"])].bytes_per_second if "storage" in said else None
