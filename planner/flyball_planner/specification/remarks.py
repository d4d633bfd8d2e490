"""Sentences for the assumptions about keys that other tools read differently."""

from collections.abc import Iterator, Mapping
from typing import Any

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.models.cost import ModelCost
from flyball_planner.specification.canonical_keys import Canonical
from flyball_planner.specification.model_families import Model
from flyball_reports.figures import percent

UNUSED_BY_CLASSICAL = ("optimizer", "learning_rate", "batch_size")
"""Keys of the training without a meaning for models that are not trained in gradient steps."""


def remarks(
    own: Canonical, values: Mapping[str, Mapping[str, Any]], model: Model, machine: TrainingMachine
) -> tuple[str, ...]:
    """Return a sentence for each reading that could surprise the author."""
    classical = isinstance(model.subject, ModelCost) and not model.subject.trained_by_gradient
    found = [*model.remarks, *_on_hardware(own, values["hardware"], machine), *_on_report(own, values["report"])]
    found += () if classical else _on_copies(own, values["scalability"], machine)
    if classical:
        unused = [own.name(f"training.{key}") for key in UNUSED_BY_CLASSICAL if key in values["training"]]
        found += [f"{', '.join(unused)}: not used, because {model.name} is not trained in gradient steps"] * bool(
            unused
        )
    else:
        precision = {**model.training, **values["training"]}.get("precision")
        found += [MIXED] * (precision == "fp16")
    idle = [*own.idle, *(own.name(f"model.{key}") for key in model.idle)]
    found += [f"not part of an estimate: {', '.join(idle)}"] * bool(idle)
    return tuple(found)


MIXED = "precision fp16 is mixed precision: arithmetic and activations in fp16, weights are updated in fp32"


def _on_hardware(own: Canonical, values: Mapping[str, Any], machine: TrainingMachine) -> Iterator[str]:
    efficiency = machine.device.efficiency
    if efficiency is not None and "efficiency" in values:
        yield (
            f"matrix products reach {percent(efficiency)} of the peak rate, as {own.name('hardware.efficiency')} "
            "states; communication, memory traffic and kernel launches are added"
        )


def _on_copies(own: Canonical, values: Mapping[str, Any], machine: TrainingMachine) -> Iterator[str]:
    """Yield a remark if copies of the model are not to be compared: that does not restrict the plan's own layout."""
    if values.get("data_parallel") is False and machine.devices > 1:
        yield (
            f"{own.name('scalability.data_parallel')}: false restricts comparisons; the layout of the plan may hold "
            "copies of the model (to have one, set layout.tensor or layout.pipeline to the number of devices)"
        )


def _on_report(own: Canonical, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a remark if charts are wanted in a format that has none."""
    if values.get("plots") and values.get("format", "table") != "html":
        yield f"{own.name('report.plots')}: charts are part of the HTML page (format: html, or --output plan.html)"
