"""Replaces NaN, Infinity and -Infinity, which Python's `json.dumps` writes although JSON has no such numbers."""

import re

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?Infinity|NaN', re.DOTALL)
_KEPT = {b"NaN": b'"nan"', b"Infinity": b'"inf"', b"-Infinity": b'"-inf"'}
_LOSS = b'"loss"'


def replace_constants(line: bytes) -> bytes:
    """Return a line in which they are `null`, or a text if they are a loss. Return the same line if it has none.

    Texts in quotation marks are not changed.
    """
    if b"NaN" not in line and b"Infinity" not in line:
        return line
    before = b""

    def replaced(match: re.Match[bytes]) -> bytes:
        nonlocal before
        token = match[0]
        if token.startswith(b'"'):
            before = token
            return token
        return _KEPT[token] if before == _LOSS else b"null"

    found = _TOKEN.sub(replaced, line)
    return line if found == line else found
