"""The context of a plan: what measured runs corrected, and how the data arrive."""

from msgspec import Struct

from flyball_planner.calibration.corrections import NOTHING_LEARNED, Learned
from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.specification.specification import Specification
from flyball_planner.timing.loading import Loading


class PlanContext(Struct, frozen=True):
    """The results of calibration and the properties of data loading; both are optional."""

    learned: Learned = NOTHING_LEARNED
    loading: Loading | None = None


NOTHING = PlanContext()


def empty_context(machine: TrainingMachine) -> PlanContext:
    """Return the empty context for any machine."""
    del machine
    return NOTHING


def context_of(specification: Specification, machine: TrainingMachine | None = None) -> PlanContext:
    """Return a specification's context, for its own machine or another one."""
    if specification.measured is None:
        return PlanContext(loading=specification.loading)
    from flyball_planner.calibration.learning import learned_for  # noqa: PLC0415  few plans are calibrated

    learned = learned_for(specification.measured, specification.subject, machine or specification.machine)
    return PlanContext(learned, specification.loading)
