"""The layout of a plan: the specified one, or the fastest that fits."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.layout_search.candidates import Choices
from flyball_planner.layout_search.search import SHOWN, Case, Search, search_each
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import allowed
from flyball_planner.plan.context import NOTHING, PlanContext, context_of
from flyball_planner.plan.judged_layout import JudgedLayout, judge, of_row
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.specification.specification import Specification
from flyball_planner.training import Training
from flyball_reports.errors import InputError


class Choice(Struct, frozen=True):
    """The chosen layout, and the next best ones."""

    best: JudgedLayout
    others: tuple[JudgedLayout, ...]
    chosen_by: str  # "specification", "search", "completion" (of a specified one), or "nothing" if there is only one
    perhaps: JudgedLayout | None = None  # a clearly faster layout, which probably fits


def choose_for(specification: Specification, shown: int = 1) -> Choice:
    """Choose the layout of a specification, by default without alternatives."""
    return choose(
        specification.subject,
        specification.training,
        specification.machine,
        specification.layout,
        shown=shown,
        context=context_of(specification),
        choices=specification.choices,
    )


def choose(
    subject: Subject,
    training: Training,
    machine: TrainingMachine,
    given: ParallelLayout | None = None,
    shown: int = SHOWN,
    context: PlanContext = NOTHING,
    choices: Choices | None = None,
) -> Choice:
    """Return the best layout and up to `shown - 1` alternatives; raises `InputError` if no layout is possible."""
    (found,) = choose_each(subject, [Case(training, machine, shown)], given, context, choices)
    if isinstance(found, InputError):
        raise found
    return found


def choose_each(
    subject: Subject,
    cases: Sequence[Case],
    given: ParallelLayout | None = None,
    context: PlanContext = NOTHING,
    choices: Choices | None = None,
) -> list[Choice | InputError]:
    """Choose for several cases that differ only in batch and number of devices."""
    if not trained_by_gradient(subject):
        return [_only(subject, each, context) for each in cases]
    if given is not None and choices is None:
        return [_given(subject, each, given, context) for each in cases]
    learned = context.learned
    chosen = given is not None
    found = search_each(subject, cases, choices, belief=learned.belief, constants=learned.constants, chosen=chosen)
    by = "completion" if chosen else "search"
    return [_searched(subject, *each, context, by) for each in zip(cases, found, strict=True)]


def _only(subject: Subject, case: Case, context: PlanContext) -> Choice:
    layout = ParallelLayout(devices_a_node=case.machine.devices_a_node)
    return Choice(judge(subject, case.training, case.machine, layout, context), (), "nothing")


def _given(subject: Subject, case: Case, given: ParallelLayout, context: PlanContext) -> Choice | InputError:
    """Apply the specified layout to all devices of this machine."""
    machine = case.machine
    layout = replace(given, devices=machine.devices, devices_a_node=machine.devices_a_node)
    if not allowed(subject, case.training, Layouts.of(layout), chosen=True).all():
        return InputError(f"the specified layout is not possible on {machine.devices} devices")
    return Choice(judge(subject, case.training, machine, layout, context), (), "specification")


def _searched(subject: Subject, case: Case, found: Search, context: PlanContext, by: str) -> Choice | InputError:
    """Return the fastest fitting layout; if none surely fits, the smallest one, which shows how much memory is
    missing."""
    training, machine = case.training, case.machine
    if found.step is not None and found.memory is not None:
        best, *others = (
            of_row(training, machine, each.layout, found.step, found.memory, row, context, each.variants)
            for row, each in enumerate(found.best)
        )
        perhaps = judge(subject, training, machine, found.perhaps, context) if found.perhaps else None
        return Choice(best, tuple(others), by, perhaps)
    if found.smallest is None:
        return InputError(found.why_none)
    return Choice(judge(subject, training, machine, found.smallest, context), (), by)
