"""What a plan knows beside the model, its training and the machine: what was measured, and how the data arrive."""

from msgspec import Struct

from flyball_planner.calibration.learned import UNTAUGHT, Learned
from flyball_planner.catalogue.hardware import Machine
from flyball_planner.specification.specification import Specification
from flyball_planner.timing.loading import Loading


class Known(Struct, frozen=True):
    """Both may be nothing."""

    learned: Learned = UNTAUGHT
    loading: Loading | None = None


NOTHING = Known()


def nothing_known(machine: Machine) -> Known:
    """Whatever the machine."""
    del machine
    return NOTHING


def known_of(specification: Specification, machine: Machine | None = None) -> Known:
    """What a specification says of both, for its own machine or another."""
    if specification.measured is None:
        return Known(loading=specification.loading)
    from flyball_planner.calibration.learning import learned_for  # noqa: PLC0415  few plans are calibrated

    learned = learned_for(specification.measured, specification.subject, machine or specification.machine)
    return Known(learned, specification.loading)
