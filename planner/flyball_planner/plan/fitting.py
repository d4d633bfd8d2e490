"""Find what makes a training fit that does not: several changes together, or more devices."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.layout_search.candidates import Choices
from flyball_planner.layout_search.search import Case
from flyball_planner.memory.single_change import MemoryChange, possible_changes
from flyball_planner.memory.verdict import Fit
from flyball_planner.plan.judged_layout import FITS, JudgedLayout
from flyball_planner.plan.layout_choice import Choice, choose_each
from flyball_planner.plan.plan import PlanRecommendation
from flyball_planner.plan.scaling import on
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.plan.words import layout_in_short
from flyball_planner.specification.specification import Specification
from flyball_reports.figures import duration, size, spread

MOST_CHANGES = 10
FACTORS = tuple(2**each for each in range(1, 10))
"""Multiples of the given devices."""
AT_ONCE = 3  # of them; later ones cost time and are only looked at if no earlier one fits
SLACK = 4.0  # more devices rarely need less than this part of their share of the memory


class Together(Struct, frozen=True):
    """Changes in their order; the last has the training and layout of all."""

    changes: tuple[MemoryChange, ...]
    saved_bytes: float

    @property
    def fits(self) -> bool:
        """Return True if the training surely fits after all changes."""
        return bool(self.changes) and self.changes[-1].fit is Fit.YES

    @property
    def words(self) -> tuple[str, ...]:
        """Return the changes, of repeated ones (half the micro-batch, and half again) the last."""
        return tuple({" ".join(each.what.split()[:2]): each.what for each in self.changes}.values())


def on_fitting(specification: Specification, judged: JudgedLayout) -> Iterator[PlanRecommendation]:
    """Recommend what makes a training fit, if the given one does not."""
    subject = specification.subject
    if judged.verdict == FITS or not trained_by_gradient(subject):
        return
    together = changes_together(subject, judged)
    if together.fits and len(together.changes) > 1:
        words = "; ".join(together.words)
        because = f"together they free {size(together.saved_bytes)} of each device"
        yield PlanRecommendation(words[:1].upper() + words[1:], because, "the training then fits")
    wider = enough_devices(specification, judged)
    if wider is not None:
        yield _on_devices(wider, together)


def on_faster(choice: Choice) -> Iterator[PlanRecommendation]:
    """Recommend to try a clearly faster layout, that probably fits but may not."""
    faster, best = choice.perhaps, choice.best
    if faster is None or faster.step.middle >= best.step.middle:
        return
    yield PlanRecommendation(
        f"Try {layout_in_short(faster.layout)}",
        f"it probably fits: the fullest device needs {spread(faster.driver, size)} of "
        f"{size(faster.machine.device.memory_bytes)}",
        f"estimated: a step of {duration(faster.step.middle)} instead of {duration(best.step.middle)}",
    )


def changes_together(subject: Subject, judged: JudgedLayout) -> Together:
    """Return the changes that each free most after those before them, until the training fits or none is left."""
    device, constants = judged.machine.device, judged.context.learned.constants
    training, layout, found = judged.training, judged.layout, list[MemoryChange]()
    while len(found) < MOST_CHANGES and not (found and found[-1].fit is Fit.YES):
        change = next(iter(possible_changes(subject, training, layout, device, constants)), None)
        if change is None:
            break
        found.append(change)
        training, layout = change.training, change.layout
    return Together(tuple(found), sum(each.saved_bytes for each in found))


def enough_devices(specification: Specification, judged: JudgedLayout) -> JudgedLayout | None:
    """Return the fastest layout on the fewest devices that fit, among doublings of the given number.

    If none is possible within the restrictions of the layout, they are dropped.
    """
    if judged.machine.device.kind is DeviceKind.CPU:
        return None
    restrictions = (specification.choices, None) if specification.choices else (None,)
    looks = ((choices, factors) for choices in restrictions for factors in _looks(specification, judged))
    return next((best for each in looks if (best := _look(specification, judged, *each)) is not None), None)


def _looks(specification: Specification, judged: JudgedLayout) -> Iterator[Sequence[int]]:
    """Yield multiples; hopeless ones are left out if the judged layout is the smallest of all."""
    least = judged.memory_share / SLACK if specification.layout is None else 0.0
    hopeful = [each for each in FACTORS if each >= least]
    for start in range(0, len(hopeful), AT_ONCE):
        yield hopeful[start : start + AT_ONCE]


def _look(
    specification: Specification, judged: JudgedLayout, choices: Choices | None, factors: Sequence[int]
) -> JudgedLayout | None:
    """Return the layout on the first number of devices on which one surely fits."""
    cases = [Case(judged.training, on(specification, each * judged.machine.devices), shown=1) for each in factors]
    found = choose_each(specification.subject, cases, None, judged.context, choices)
    return next((each.best for each in found if isinstance(each, Choice) and each.best.verdict == FITS), None)


def _on_devices(wider: JudgedLayout, together: Together) -> PlanRecommendation:
    device, devices = wider.machine.device, wider.machine.devices
    held = size(wider.driver.middle)
    because = (
        f"the first doubling of the devices that fits: as {layout_in_short(wider.layout)}, the fullest device needs "
        f"{held} of {size(device.memory_bytes)}"
    )
    if not together.fits:
        because = f"on the given devices no change of the training is enough; {because}"
    return PlanRecommendation(
        f"Use {devices} × {device.name}",
        because,
        f"the training then fits, with a step of {duration(wider.step.middle)}",
    )
