"""Names what is wrong with the declaration of a value, for the warning at its line."""

from __future__ import annotations

from itertools import islice

from flyball.adjustments.value import MAX_CHOICES, MAX_TEXT, SAFETY_CLASSES, WHEN, plain
from flyball.training.texts import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

OF_EVERY_RUN = ("pause", "throttle")
"""Names of values that every run has. One of the script would replace it, and the run could not be paused any more."""

_VALUES = f"true or false, a finite number, or a printable text of at most {MAX_TEXT} characters"
_LONGEST = 60


def fault_of(name: object, initial: object, options: Mapping[str, Any]) -> str:
    """Return what is wrong with a declaration, and what was expected."""
    if not clean(name):
        return "it has no name"
    if name in OF_EVERY_RUN:
        return "every run has a value with this name; choose another name"
    if options.get("when") not in WHEN:
        return f"when={_short(options.get('when'))}: expected step, epoch or restart"
    if options.get("safety") not in SAFETY_CLASSES:
        return f"safety={_short(options.get('safety'))}: expected 1, 2, 3 or 4"
    choices = options.get("choices")
    return _fault_of_choices(choices) or _fault_of_initial(initial, choices) or "facts or lever are not texts"


def _fault_of_choices(choices: Any) -> str:
    if isinstance(choices, str) or not hasattr(choices, "__iter__"):
        return f"choices={_short(choices)}: expected a list or tuple of values"
    found = tuple(islice(choices, MAX_CHOICES + 1))
    if len(found) > MAX_CHOICES:
        return f"it has more than {MAX_CHOICES} choices"
    wrong = [each for each in found if plain(each) is None]
    return f"the choice {_short(wrong[0])}: expected {_VALUES}" if wrong else ""


def _fault_of_initial(initial: object, choices: Any) -> str:
    if plain(initial) is None:
        return f"the first value is {_short(initial)}: expected {_VALUES}"
    full = len(choices) == MAX_CHOICES and initial not in choices
    return f"it has more than {MAX_CHOICES} choices with the first value" if full else ""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
