"""The section `layout`: how devices share the work, where the user wants no search."""

from collections.abc import Mapping
from typing import Any

from flyball_planner.catalogue.hardware import Machine
from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.layouts.rules import refusals
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Training
from flyball_reports.specification.sections import Findings


def read_layout(
    said: Mapping[str, Any],
    subject: TransformerShape | ModelCost,
    training: Training,
    machine: Machine,
    findings: Findings,
) -> Layout | None:
    """The layout that is asked for; nothing where the section is left out, or breaks a rule, which is told."""
    if not said:
        return None
    layout = Layout(devices=machine.devices, devices_a_node=machine.devices_a_node, **said)
    if layout.data < 1:
        needed = layout.tensor * layout.pipeline * layout.context
        findings.add(
            "layout", f"tensor × pipeline × context is {needed}, more than the {machine.devices} devices there are"
        )
        return None
    broken = [each.reason for each in refusals(subject, training, Layouts.of(layout)) if each.broken.any()]
    for reason in broken:
        findings.add("layout", reason)
    return None if broken else layout
