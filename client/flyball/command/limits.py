"""Limits of numbers on the command line. NaN passes every range check of Typer, so `finite` rejects it."""

import math

import typer

from flyball.command.errors import WrongArgument

MOST_DEVICES = 1_000_000  # as in a specification
MOST_SAMPLES = 10**15  # as in a specification
FEWEST_HOURS, MOST_HOURS = 1e-3, 1e6  # a few seconds; more than a century
MOST_DAYS = 3650.0
MOST_LEVELS, LARGEST_CHUNK = 32, 1_000_000  # as in flyball_planner.storage
FEWEST_TOKENS, MOST_TOKENS = 1e-3, 1e12


def count_of_samples(text: str | int) -> int:
    """Return a number of samples, which may be written as in a specification: 1e6, 10k or 26B."""
    from flyball_reports.specification.source_value import SourceValue
    from flyball_reports.specification.value_readers import Unfit, integer

    try:
        value: int = integer(-MOST_SAMPLES, 1e300).read(SourceValue(text, 0))
    except Unfit:
        raise typer.BadParameter(f"{text!r} is not a valid int") from None
    if not 1 <= value <= MOST_SAMPLES:
        raise typer.BadParameter(f"{text} is not in the range 1<=x<={MOST_SAMPLES}")
    return value


def finite(parameter: typer.CallbackParam, value: float | None) -> float | None:
    """Return the value if it is a finite number."""
    if value is not None and not math.isfinite(value):
        raise WrongArgument(f"{parameter.opts[0]} {value}: expected a finite number")
    return value
