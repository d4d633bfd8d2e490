"""Bounds of numbers on the command line, where typer knows none: what is no number is within all of its ranges."""

import math

import typer

from flyball.command.errors import CommandError
from flyball.command.specifications import WRONG

MOST_DEVICES = 1_000_000  # as in a specification
MOST_SAMPLES = 10**15  # the same
FEWEST_HOURS, MOST_HOURS = 1e-3, 1e6  # a few seconds; more than a century
MOST_DAYS = 3650.0


def finite(parameter: typer.CallbackParam, value: float | None) -> float | None:
    """A number that is one, and that ends."""
    if value is not None and not math.isfinite(value):
        raise CommandError(f"{parameter.opts[0]} {value}: expected a number that is finite", WRONG)
    return value
