"""A generator of a cause: its name, the true bottlenecks, and how an instance is drawn."""

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tests.benchmarks.labelled.scene import Draw

PYTHON = sys.executable


class History(StrEnum):
    """The use that was made of a generator's recordings."""

    TUNED = "tuned on"  # thresholds and calibration are fitted to them
    SEEN = "seen"  # calibrations that are no longer shipped were; the authors of the rules had seen their results
    NEVER = "never"  # they were made after the rules, and only for scoring


@dataclass(frozen=True, slots=True)
class Generator:
    """One way to make a bottleneck. `truth` names the kinds of condition that are right; none: it should do no harm."""

    name: str
    cause: str  # the class it counts for
    truth: tuple[str, ...]
    draw: Callable[[random.Random], Draw]
    history: History = History.TUNED
    needs: tuple[str, ...] = ()  # control groups, `swap`, or a program
    quiet: bool = False  # meant to be harmless: load that stays out of the loop's way
    draw_mixed: Callable[[random.Random], Draw] | None = None  # of a strength that leaves room for another cause

    @property
    def tuned(self) -> bool:
        """Return True if thresholds and calibration may be fitted to its recordings."""
        return self.history is History.TUNED


def script(text: str, *arguments: object) -> tuple[str, ...]:
    """A Python program of a few lines, without the time that site packages take."""
    return (PYTHON, "-S", "-E", "-c", text, *map(str, arguments))
