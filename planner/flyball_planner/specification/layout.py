"""The section `layout`: a layout that the user specifies instead of a search, or restrictions of the search."""

from collections.abc import Mapping
from typing import Any

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.layout_search.candidates import Choices
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import refusals
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.specification.keys import CHOICES, LAYOUT
from flyball_planner.training import Training
from flyball_reports.specification.sections import SpecificationFaults, read_section
from flyball_reports.specification.source_value import SourceValue

CHOSEN = ("micro_batch", "sharding", "checkpointing", "offload")
"""Parts of a layout that the training may state (`gradient_checkpointing: true`), without a section `layout`."""


def read_choices(entry: SourceValue | None, layout: dict[str, Any], faults: SpecificationFaults) -> Choices | None:
    """Return restrictions of the search; beside a section `layout` they become a part of it."""
    if entry is None:
        return None
    values = read_section(CHOICES, entry, [key for key in LAYOUT if key.name in CHOSEN], faults)
    if not layout:
        return Choices(**{name: (value,) for name, value in values.items()}) if values else None
    for name, value in values.items():
        if layout.setdefault(name, value) != value:
            faults.add(f"{CHOICES}.{name}", f"contradicts layout.{name}; keep one of them")
    return None


def read_layout(
    values: Mapping[str, Any],
    subject: TransformerShape | ModelCost,
    training: Training,
    machine: TrainingMachine,
    faults: SpecificationFaults,
) -> ParallelLayout | None:
    """Return the specified layout; nothing if the section is missing or breaks a rule, which is reported."""
    given = {name: value for name, value in values.items() if name != "data"}
    layout = ParallelLayout(devices=machine.devices, devices_a_node=machine.devices_a_node, **given)
    if values.get("data", layout.data) != layout.data and layout.data >= 1:
        faults.add(
            "layout.data",
            f"{machine.devices} devices hold {layout.data} copies of the model (devices ÷ tensor ÷ pipeline ÷ context)",
        )
    if not given:
        return None
    if layout.data < 1:
        needed = layout.tensor * layout.pipeline * layout.context
        faults.add("layout", f"tensor × pipeline × context is {needed}, but there are only {machine.devices} devices")
        return None
    rules = refusals(subject, training, Layouts.of(layout), chosen=True)
    broken = [each.reason for each in rules if each.broken.any()]
    for reason in broken:
        faults.add("layout", reason)
    return None if broken else layout
