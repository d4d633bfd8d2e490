"""Names, labels and numbers from a training: valid, printable and short, or dropped."""

from __future__ import annotations

MAX_NAME = 200
MAX_SHORT_NAME = 60  # of labels, sections, services and levels
MAX_COUNT = 2**63 - 1
MAX_RANK = 2**31 - 1


def clean(text: object, length: int = MAX_NAME) -> str:
    """Return printable text of at most this length. Anything that is not text becomes its text."""
    if not isinstance(text, str):
        text = str(text)
    text = text[: 4 * length]
    if not text.isprintable():
        text = "".join([character if character.isprintable() else " " for character in text])
    return text.strip()[:length].rstrip()


def whole_number(value: object, largest: int = MAX_COUNT) -> int | None:
    """Return a whole number that is not negative; None for everything else."""
    if isinstance(value, str):
        text = value.strip()
        value = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    if value is None or isinstance(value, bool):
        return None
    if not isinstance(value, int):
        value = value.__index__()  # type: ignore[attr-defined]  # integers of NumPy; others raise
    assert isinstance(value, int)  # noqa: S101  by the protocol of __index__
    return value if 0 <= value <= largest else None


def amount(value: object) -> float | None:
    """Return an amount, such as a number of tokens; None for what is negative, not finite or on a device.

    Reading a value from a device would make the training wait for it.
    """
    kind = value.__class__
    if kind is not int and kind is not float:
        device = getattr(value, "device", None)
        if device is not None and getattr(device, "type", device) != "cpu":
            return None
        value = float(value)  # type: ignore[arg-type]  # others raise
    return float(value) if 0 <= value < 1e300 else None  # type: ignore[operator,arg-type]  # NaN is false as well
