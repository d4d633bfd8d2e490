"""The size of a learnt pattern as MongoDB stores it: a BSON document (bsonspec.org, version 1.1)."""

NAME_BYTES = len("PTRN|") + 40
"""A pattern is named by the SHA-1 of its content, in hexadecimal."""

METADATA_BYTES = 150.0
"""Timestamps and notes of a pattern, as the older estimators of such learners took them."""

TOKEN_BYTES = 15.0
"""The mean length of a symbol at node0, as the older estimators took it."""


def pattern_bytes(symbols: int, symbol_bytes: float, metadata_bytes: float = METADATA_BYTES) -> float:
    """A document with an object id, a name, a list of one-symbol events, how often it was seen, and metadata."""
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
    return 4 + content + 1  # its length, its elements, a closing zero


def _element(key: str, value: float) -> float:
    return 1 + len(key) + 1 + value  # a type, the key and a zero, the value


def _string(key: str, length: float) -> float:
    return _element(key, 4 + length + 1)
