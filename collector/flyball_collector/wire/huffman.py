"""Huffman decoding of header text (RFC 7541, section 5.2), one byte at a step instead of one bit.

A row belongs to a position within a code: the bits read since the last symbol. For each of 256 bytes it has the symbols
that the byte completes and the row of the position after it. Printable text needs some fifty of 256 rows, so a row is
computed when it is first needed (0.1 ms and 20 kB each).
"""

from flyball_collector.wire.frames import ErrorCode, ProtocolFault
from flyball_collector.wire.hpack_tables import CODE_BITS, END_OF_STRING

Row = list[tuple[bytes, "Row"]]

_START = 1  # a position is the bits since the last symbol, after a 1 that marks their number
_INVALID = 0  # the position after an end-of-string symbol
_PADDINGS = frozenset((1 << bits + 1) - 1 for bits in range(8))  # less than a byte, all ones


def huffman_decoded(text: bytes) -> bytes:
    """Decode Huffman-coded text. The padding is less than a byte and consists of ones."""
    row, pieces = _row(_START), []
    for byte in text:
        if not row:
            _compute(row)
        piece, row = row[byte]
        pieces.append(piece)
    position = _positions[id(row)]
    if position == _INVALID:
        raise _fault("end-of-string symbol within a string")
    if position not in _PADDINGS:
        raise _fault("invalid Huffman padding")
    return b"".join(pieces)


def _compute(row: Row) -> None:
    """Fill a row: after each of eight bits there are twice as many steps."""
    steps = [(b"", _positions[id(row)])]
    for _ in range(8):
        steps = [_after(symbols, position << 1 | bit) for symbols, position in steps for bit in (0, 1)]
    row[:] = [(symbols, _row(position)) for symbols, position in steps]


def _after(symbols: bytes, position: int) -> tuple[bytes, int]:
    """Return the symbols and the position after a bit."""
    if position <= 1:  # it was invalid before the bit
        return symbols, _INVALID
    symbol = _SYMBOLS.get(position)
    if symbol is None:
        return symbols, position
    if symbol == END_OF_STRING:
        return symbols, _INVALID
    return symbols + bytes((symbol,)), _START


def _row(position: int) -> Row:
    row = _rows.get(position)
    if row is None:
        row = _rows[position] = []
        _positions[id(row)] = position
    return row


def _canonical() -> dict[int, int]:
    """Return the symbols by the position at their end."""
    symbols, code, bits = {}, 0, 0
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(CODE_BITS)):
        code <<= length - bits
        bits = length
        symbols[1 << length | code] = symbol
        code += 1
    return symbols


def _fault(reason: str) -> ProtocolFault:
    return ProtocolFault(ErrorCode.COMPRESSION_ERROR, f"headers: {reason}")


_SYMBOLS = _canonical()
_rows: dict[int, Row] = {}  # computed and shared by all connections; never more than 257
_positions: dict[int, int] = {}  # by the identity of a row, which is never freed
