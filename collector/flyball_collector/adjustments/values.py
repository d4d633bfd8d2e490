"""Values of adjustments as JSON texts, as they travel between collector, agent and rank."""

import math

import msgspec

from flyball_collector.adjustments.adjustment import Value

LONGEST_TEXT = 200


class WrongValue(ValueError):
    """A text is not a value. The message has the reason."""


def value_text(value: Value) -> str:
    """Return a value as its JSON text."""
    return msgspec.json.encode(value).decode()


def parse_value(text: str) -> Value:
    """Return the value of a JSON text. Raise `WrongValue` for anything else than one number, text, true or false."""
    if len(text) > LONGEST_TEXT:
        raise WrongValue(f"a value of {len(text)} characters; the limit is {LONGEST_TEXT}")
    try:
        value = msgspec.json.decode(text)
    except msgspec.MsgspecError as error:
        raise WrongValue(f"{text[:40]!r} is not a JSON value: {error}") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise WrongValue(f"{text[:40]!r} is not finite")
    if not isinstance(value, bool | int | float | str):
        raise WrongValue(f"{text[:40]!r} is not a number, a text, true or false")
    return value


def same_value(one: Value | None, other: Value | None) -> bool:
    """Return True if two values are equal. Unlike in Python, true is not 1; 8 and 8.0 are the same."""
    return isinstance(one, bool) is isinstance(other, bool) and one == other
