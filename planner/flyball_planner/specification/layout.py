"""The section `layout`: a layout that the user specifies instead of a search, or restrictions of the search."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.layout_search.candidates import Choices, candidates, grid
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import obstacle, refusals, unbroken
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.specification.keys import CHOICES, LAYOUT
from flyball_planner.training import Sharding, Training
from flyball_reports.specification.sections import SpecificationFaults, read_section
from flyball_reports.specification.source_value import SourceValue

CHOSEN = ("micro_batch", "sharding", "checkpointing", "offload")
"""Parts of a layout that the training may state (`gradient_checkpointing: true`), without a section `layout`."""

SEARCHED = ("micro_batch", "sharding", "checkpointing")
"""Parts of a layout that are searched if a section `layout` leaves them out."""


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


def refuse_batch(
    key: str,
    subject: TransformerShape | ModelCost,
    training: Training,
    machine: TrainingMachine,
    choices: Choices | None,
    faults: SpecificationFaults,
) -> None:
    """Report a batch that no layout can divide among the devices, so that it is known before a plan is made."""
    micro = choices.micro_batch[0] if choices and choices.micro_batch else 1
    whole = machine.devices * micro
    if training.global_batch % whole == 0 or (isinstance(subject, ModelCost) and not subject.trained_by_gradient):
        return  # copies of the model on all devices are possible
    where = (machine.devices, machine.devices_a_node, choices)
    every = grid(subject, training, *where)
    if ((every.data >= 1) & unbroken(refusals(subject, training, every))).any():
        return
    why = obstacle(refusals(subject, training, candidates(subject, training, *where)))
    faults.add(
        key,
        f"no layout is possible on {machine.devices:,} devices: {why}; use a batch of {whole:,} or a multiple of it, "
        "or fewer devices",
    )


def open_choices(values: Mapping[str, Any], layout: ParallelLayout | None) -> Choices | None:
    """Return the search that completes a layout: what it states is fixed; None if it states everything.

    Degrees of parallelism that it leaves out are 1. Weights and gradients are only sharded within a pipeline if it
    states so.
    """
    if layout is None or all(name in values for name in SEARCHED):
        return None
    left_open = {*SEARCHED, "sequence_parallel"} - set(values)
    fixed: dict[str, Any] = {
        name: (getattr(layout, name),) for name in Choices.__struct_fields__ if name not in left_open
    }
    found = Choices(**fixed)
    if layout.pipeline > 1 and not found.sharding:
        return replace(found, sharding=(Sharding.NONE, Sharding.ZERO1))
    return found


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
