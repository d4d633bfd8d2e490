"""The layout of a plan: the one that is asked for, or the fastest that fits."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import Machine
from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.layouts.rules import allowed
from flyball_planner.layouts.search import SHOWN, Case, Search, search_each
from flyball_planner.plan.judge import Judged, judge, of_row
from flyball_planner.plan.known import NOTHING, Known, known_of
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.specification.specification import Specification
from flyball_planner.training import Training
from flyball_reports.errors import InputError


class Choice(Struct, frozen=True):
    """A layout, and what came next."""

    best: Judged
    others: tuple[Judged, ...]
    chosen_by: str  # specification, search, or nothing: there was no choice


def choose_for(specification: Specification) -> Choice:
    """The choice for a specification, with all that it says; of other layouts nothing is told."""
    said = specification
    return choose(said.subject, said.training, said.machine, said.layout, shown=1, known=known_of(said))


def choose(
    subject: Subject,
    training: Training,
    machine: Machine,
    asked: Layout | None = None,
    shown: int = SHOWN,
    known: Known = NOTHING,
) -> Choice:
    """The best layout and, of `shown` ones, those that come next; `InputError` where none is possible at all."""
    (found,) = choose_each(subject, [Case(training, machine, shown)], asked, known)
    if isinstance(found, InputError):
        raise found
    return found


def choose_each(
    subject: Subject, cases: Sequence[Case], asked: Layout | None = None, known: Known = NOTHING
) -> list[Choice | InputError]:
    """The same of cases that differ in batch and number of devices alone."""
    if not trained_by_gradient(subject):
        return [_only(subject, each, known) for each in cases]
    if asked is not None:
        return [_asked(subject, each, asked, known) for each in cases]
    taught = known.learned
    found = search_each(subject, cases, belief=taught.belief, constants=taught.constants)
    return [_searched(subject, *each, known) for each in zip(cases, found, strict=True)]


def _only(subject: Subject, case: Case, known: Known) -> Choice:
    layout = Layout(devices_a_node=case.machine.devices_a_node)
    return Choice(judge(subject, case.training, case.machine, layout, known), (), "nothing")


def _asked(subject: Subject, case: Case, asked: Layout, known: Known) -> Choice | InputError:
    """The same layout over all devices of this machine."""
    machine = case.machine
    layout = replace(asked, devices=machine.devices, devices_a_node=machine.devices_a_node)
    if not allowed(subject, case.training, Layouts.of(layout)).all():
        return InputError(f"the layout that is asked for cannot be spread over {machine.devices} devices")
    return Choice(judge(subject, case.training, machine, layout, known), (), "specification")


def _searched(subject: Subject, case: Case, found: Search, known: Known) -> Choice | InputError:
    """The fastest; where nothing surely fits, what takes least, which says how far away fitting is."""
    training, machine = case.training, case.machine
    if found.step is not None and found.memory is not None:
        best, *others = (
            of_row(training, machine, each.layout, found.step, found.memory, row, known)
            for row, each in enumerate(found.best)
        )
        return Choice(best, tuple(others), "search")
    if found.smallest is None:
        return InputError(found.why_none)
    return Choice(judge(subject, training, machine, found.smallest, known), (), "search")
