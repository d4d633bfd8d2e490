"""HPACK (RFC 7541): a full decoder of HTTP/2 headers, and the simplest valid encoder."""

from collections import deque
from collections.abc import Iterable

from flyball_collector.wire.frames import ErrorCode, ProtocolFault
from flyball_collector.wire.hpack_tables import CODE_BITS, END_OF_STRING, FIELDS

Header = tuple[bytes, bytes]

TABLE_BYTES = 4096  # RFC 9113, section 6.5.2: the default, which we never change
_ENTRY_BYTES = 32  # section 4.1: overhead of an entry
_MAX_INTEGER = 1 << 31


class Decoder:
    """Decodes the headers of one connection. Every block must be decoded, because it may change the table."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._limit = TABLE_BYTES
        self._entries: deque[Header] = deque()
        self._size = 0

    def decode(self, block: bytes) -> list[Header]:
        """Return the headers of a block. Raises `ProtocolFault`."""
        headers: list[Header] = []
        left, at = self._max_bytes, 0
        while at < len(block):
            header, at = self._field(block, at, first=not headers)
            if header is None:
                continue
            headers.append(header)
            left -= _size(header)
            if left < 0:
                raise ProtocolFault(ErrorCode.ENHANCE_YOUR_CALM, f"more than {self._max_bytes} bytes of headers")
        return headers

    def _field(self, block: bytes, at: int, *, first: bool) -> tuple[Header | None, int]:
        """Decode one header field (section 6), and return the offset of the next one."""
        byte = block[at]
        if byte & 0x80:  # indexed
            index, at = _integer(block, at, 7)
            return self._entry(index), at
        if byte & 0x40:  # literal, added to the table
            header, at = self._literal(block, at, 6)
            self._remember(header)
            return header, at
        if byte & 0x20:  # a new table size
            limit, at = _integer(block, at, 5)
            if limit > TABLE_BYTES or not first:
                raise _fault(f"table size {limit}: allowed are up to {TABLE_BYTES} bytes, before the first header")
            self._limit = limit
            self._evict(0)
            return None, at
        return self._literal(block, at, 4)

    def _literal(self, block: bytes, at: int, bits: int) -> tuple[Header, int]:
        index, at = _integer(block, at, bits)
        if index:
            name = self._entry(index)[0]
        else:
            name, at = _string(block, at)
        value, at = _string(block, at)
        return (name, value), at

    def _entry(self, index: int) -> Header:
        if 1 <= index <= len(FIELDS):
            return FIELDS[index - 1]
        if index and index - len(FIELDS) <= len(self._entries):
            return self._entries[index - len(FIELDS) - 1]
        raise _fault(f"index {index} in a table of {len(FIELDS) + len(self._entries)}")

    def _remember(self, header: Header) -> None:
        size = _size(header)
        self._evict(size)
        if size <= self._limit:
            self._entries.appendleft(header)
            self._size += size

    def _evict(self, coming: int) -> None:
        while self._entries and self._size + coming > self._limit:
            self._size -= _size(self._entries.pop())


def encode(headers: Iterable[Header]) -> bytes:
    """Encode fields of the static table by index, all others as literals: not indexed, and without Huffman coding."""
    block = bytearray()
    for name, value in headers:
        if (name, value) in _INDEX:
            block += _encoded_integer(_INDEX[name, value], 7, 0x80)
            continue
        known = _NAMES.get(name, 0)
        block += _encoded_integer(known, 4, 0)
        if not known:
            block += _encoded_integer(len(name), 7, 0) + name
        block += _encoded_integer(len(value), 7, 0) + value
    return bytes(block)


def huffman_decoded(text: bytes) -> bytes:
    """Decode Huffman-coded text (section 5.2). The padding is less than a byte and consists of ones."""
    code, out = 1, bytearray()
    for bit in f"{int.from_bytes(text):0{8 * len(text)}b}" if text else "":
        code = code << 1 | (bit == "1")
        symbol = _SYMBOLS.get(code)
        if symbol is not None:
            if symbol == END_OF_STRING:
                raise _fault("end-of-string symbol within a string")
            out.append(symbol)
            code = 1
        elif code >> 30:
            raise _fault("invalid Huffman code")
    padding = code.bit_length() - 1
    if padding > 7 or code != (1 << padding + 1) - 1:
        raise _fault("invalid Huffman padding")
    return bytes(out)


def _canonical() -> dict[int, int]:
    """Return the symbols by their code, which is prefixed with a 1 bit."""
    symbols, code, bits = {}, 0, 0
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(CODE_BITS)):
        code <<= length - bits
        bits = length
        symbols[1 << length | code] = symbol
        code += 1
    return symbols


_SYMBOLS = _canonical()
_INDEX = {field: index for index, field in reversed(list(enumerate(FIELDS, 1)))}
_NAMES = {name: index for (name, _), index in _INDEX.items()}


def _string(block: bytes, at: int) -> tuple[bytes, int]:
    if at >= len(block):
        raise _fault("truncated")
    coded = block[at] & 0x80
    length, at = _integer(block, at, 7)
    text = block[at : at + length]
    if len(text) < length:
        raise _fault("truncated")
    return (huffman_decoded(text) if coded else text), at + length


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """Decode an integer (section 5.1): a prefix of some bits, then seven bits a byte while the eighth is set."""
    most = (1 << bits) - 1
    value = block[at] & most
    at += 1
    if value < most:
        return value, at
    shift = 0
    while at < len(block) and shift < 32:
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            if value < _MAX_INTEGER:
                return value, at
            break
    raise _fault("integer too long")


def _encoded_integer(value: int, bits: int, pattern: int) -> bytes:
    most = (1 << bits) - 1
    if value < most:
        return bytes((pattern | value,))
    out = bytearray((pattern | most,))
    value -= most
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _size(header: Header) -> int:
    return len(header[0]) + len(header[1]) + _ENTRY_BYTES


def _fault(reason: str) -> ProtocolFault:
    return ProtocolFault(ErrorCode.COMPRESSION_ERROR, f"headers: {reason}")
