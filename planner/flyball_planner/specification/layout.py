"""The section `layout`: a layout that the user specifies instead of a search."""

from collections.abc import Mapping
from typing import Any

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import refusals
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Training
from flyball_reports.specification.sections import SpecificationFaults


def read_layout(
    values: Mapping[str, Any],
    subject: TransformerShape | ModelCost,
    training: Training,
    machine: TrainingMachine,
    faults: SpecificationFaults,
) -> ParallelLayout | None:
    """Return the specified layout; nothing if the section is missing or breaks a rule, which is reported."""
    if not values:
        return None
    layout = ParallelLayout(devices=machine.devices, devices_a_node=machine.devices_a_node, **values)
    if layout.data < 1:
        needed = layout.tensor * layout.pipeline * layout.context
        faults.add("layout", f"tensor × pipeline × context is {needed}, but there are only {machine.devices} devices")
        return None
    broken = [each.reason for each in refusals(subject, training, Layouts.of(layout)) if each.broken.any()]
    for reason in broken:
        faults.add("layout", reason)
    return None if broken else layout
