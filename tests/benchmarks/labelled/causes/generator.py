"""A generator of a cause: its name, the true bottlenecks, and how an instance is drawn."""

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass

from tests.benchmarks.labelled.scene import Draw

PYTHON = sys.executable


@dataclass(frozen=True, slots=True)
class Generator:
    """One way to make a bottleneck. `truth` names the kinds of condition that are right; none: it should do no harm.

    What is not `tuned` is never recorded for thresholds or calibration, only for scoring.
    """

    name: str
    cause: str  # the class it counts for
    truth: tuple[str, ...]
    draw: Callable[[random.Random], Draw]
    tuned: bool = True
    needs: tuple[str, ...] = ()  # control groups, `swap`, or a program
    quiet: bool = False  # meant to be harmless: load that stays out of the loop's way
    draw_mixed: Callable[[random.Random], Draw] | None = None  # of a strength that leaves room for another cause


def script(text: str, *arguments: object) -> tuple[str, ...]:
    """A Python program of a few lines, without the time that site packages take."""
    return (PYTHON, "-S", "-E", "-c", text, *map(str, arguments))
