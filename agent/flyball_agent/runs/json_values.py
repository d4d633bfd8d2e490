"""Values of adjustments: booleans, numbers and texts, which travel as JSON texts of one spelling."""

import math

import msgspec

MAX_CHARACTERS = 200  # of the JSON text


class BadValue(Exception):
    """The JSON is not a value. The message is what was expected."""


def value_text(raw: bytes) -> str:
    """Return the JSON text of a value, in one spelling. Raise `BadValue`."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadValue("expected a JSON value") from None
    if isinstance(value, bool | int | float | str) and _is_plain(value):
        text = msgspec.json.encode(value).decode()
        if len(text) <= MAX_CHARACTERS:
            return text
    raise BadValue(f"expected true, false, a finite number or a printable text of at most {MAX_CHARACTERS} characters")


def value_key(text: str) -> tuple[type, object]:
    """Return what equal values have in common: 8 and 8.0 are equal, 1 and true are not."""
    value = msgspec.json.decode(text)
    return (float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)), value


def _is_plain(value: bool | int | float | str) -> bool:
    if isinstance(value, str):
        return value.isprintable()
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**63
