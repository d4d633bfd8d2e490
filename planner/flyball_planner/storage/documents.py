"""The size of a learned pattern as MongoDB stores it: a BSON document (bsonspec.org, version 1.1)."""

NAME_BYTES = len("PTRN|") + 40
"""A pattern's name is the SHA-1 of its content in hexadecimal."""

METADATA_BYTES = 150.0
"""Timestamps and notes of a pattern, as assumed by earlier estimators of such learners."""

TOKEN_BYTES = 15.0
"""The mean length of a symbol at node0, as assumed by earlier estimators."""


def pattern_bytes(symbols: int, symbol_bytes: float, metadata_bytes: float = METADATA_BYTES) -> float:
    """Return the size of a document with id, name, one-symbol events, frequency, length and metadata."""
    event = _document(_string("0", symbol_bytes))
    events = _document(sum(_element(str(position), event) for position in range(symbols)))
    return _document(
        _element("_id", 12)
        + _string("name", NAME_BYTES)
        + _element("pattern_data", events)
        + _element("frequency", 8)
        + _element("length", 4)
        + metadata_bytes
    )


def _document(content: float) -> float:
    return 4 + content + 1  # length, elements, closing zero


def _element(key: str, value: float) -> float:
    return 1 + len(key) + 1 + value  # type, key, closing zero, value


def _string(key: str, length: float) -> float:
    return _element(key, 4 + length + 1)
