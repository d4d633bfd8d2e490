"""Batches that are given per device, as Hugging Face's Trainer and others do: the batch of a step follows from them."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.layout_search.candidates import Choices
from flyball_reports.specification.sections import SpecificationFaults


def complete_batches(
    training: dict[str, Any],
    layout: dict[str, Any],
    choices: Choices | None,
    machine: TrainingMachine,
    faults: SpecificationFaults,
) -> Choices | None:
    """Complete the batch of an optimizer step or the micro-batch, whichever is missing."""
    accumulation = training.pop("accumulation", None)
    micro = choices.micro_batch[0] if choices and choices.micro_batch else layout.get("micro_batch")
    per_device = bool(choices and choices.micro_batch)
    replicas = _replicas(layout, machine)
    batch = training.get("batch_size")
    if micro is not None and batch is None and (per_device or accumulation):
        training["batch_size"] = micro * (accumulation or 1) * replicas
    elif micro is None and accumulation:
        micro = _micro_batch(batch, accumulation, replicas, faults)
        if layout and micro:
            layout["micro_batch"] = micro
        elif micro:
            return replace(choices or Choices(), micro_batch=(micro,))
    elif accumulation and batch != micro * accumulation * replicas:
        product = (
            f"{accumulation} × a micro-batch of {micro} × {replicas} replicas is {micro * accumulation * replicas}"
        )
        faults.add("training.accumulation", f"{product}, not the batch_size of {batch}; leave out one of them")
    return choices


def _replicas(layout: Mapping[str, Any], machine: TrainingMachine) -> int:
    split: int = layout.get("tensor", 1) * layout.get("pipeline", 1) * layout.get("context", 1)
    return max(1, machine.devices // split)


def _micro_batch(batch: int | None, accumulation: int, replicas: int, faults: SpecificationFaults) -> int | None:
    if batch is None:
        faults.add("training.accumulation", "needs batch_size, or the samples per device and forward pass")
    elif batch % (accumulation * replicas):
        faults.add(
            "training.accumulation",
            f"a batch_size of {batch} is not a multiple of {accumulation} micro-batches × {replicas} replicas",
        )
    else:
        return batch // (accumulation * replicas)
    return None
