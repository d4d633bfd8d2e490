"""The layout of a plan: the one that is asked for, or the fastest that fits."""

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import Machine
from flyball_planner.errors import PlanError
from flyball_planner.layouts.candidates import candidates
from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.layouts.rules import allowed
from flyball_planner.layouts.search import SHOWN, search_layouts
from flyball_planner.memory.constants import Constants
from flyball_planner.memory.estimate import estimate_memory
from flyball_planner.plan.judge import Judged, judge, of_row
from flyball_planner.plan.known import NOTHING, Known, known_of
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.specification.specification import Specification
from flyball_planner.training import Training


class Choice(Struct, frozen=True):
    """A layout, and what came next."""

    best: Judged
    others: tuple[Judged, ...]
    chosen_by: str  # specification, search, or nothing: there was no choice


def choose_for(specification: Specification, shown: int = SHOWN) -> Choice:
    """The choice for a specification, with all that it says."""
    return choose(
        specification.subject,
        specification.training,
        specification.machine,
        specification.layout,
        shown,
        known_of(specification),
    )


def choose(
    subject: Subject,
    training: Training,
    machine: Machine,
    asked: Layout | None = None,
    shown: int = SHOWN,
    known: Known = NOTHING,
) -> Choice:
    """The best layout and, of `shown` ones, those that come next; `PlanError` where none is possible at all."""
    if not trained_by_gradient(subject):
        only = judge(subject, training, machine, Layout(devices_a_node=machine.devices_a_node), known)
        return Choice(only, (), "nothing")
    if asked is not None:
        layout = _spread(subject, training, machine, asked)
        return Choice(judge(subject, training, machine, layout, known), (), "specification")
    taught = known.learned
    found = search_layouts(subject, training, machine, belief=taught.belief, shown=shown, constants=taught.constants)
    if found.step is None or found.memory is None:
        if not found.allowed:
            raise PlanError(found.why_none)
        layout = _smallest(subject, training, machine, taught.constants)
        return Choice(judge(subject, training, machine, layout, known), (), "search")
    judged = [
        of_row(training, machine, each.layout, found.step, found.memory, row, known)
        for row, each in enumerate(found.best)
    ]
    return Choice(judged[0], tuple(judged[1:]), "search")


def _spread(subject: Subject, training: Training, machine: Machine, asked: Layout) -> Layout:
    """The same layout over all devices of this machine."""
    layout = replace(asked, devices=machine.devices, devices_a_node=machine.devices_a_node)
    if not allowed(subject, training, Layouts.of(layout)).all():
        raise PlanError(f"the layout that is asked for cannot be spread over {machine.devices} devices")
    return layout


def _smallest(subject: Subject, training: Training, machine: Machine, constants: Constants) -> Layout:
    """Where nothing surely fits: what takes least, which says how far away fitting is."""
    every = candidates(subject, training, machine.devices, machine.devices_a_node)
    possible = every.where(allowed(subject, training, every))
    taken = estimate_memory(subject, training, possible, machine.device, constants).driver.middle
    return possible[int(np.argmin(taken))]
