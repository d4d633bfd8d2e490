"""HPACK (RFC 7541): a full decoder of HTTP/2 headers, and the simplest valid encoder."""

from collections import deque
from collections.abc import Iterable

from flyball_collector.wire.frames import ErrorCode, ProtocolFault
from flyball_collector.wire.hpack_tables import FIELDS
from flyball_collector.wire.huffman import huffman_decoded

Header = tuple[bytes, bytes]

TABLE_BYTES = 4096  # RFC 9113, section 6.5.2: the default, which we never change
_ENTRY_BYTES = 32  # section 4.1: overhead of an entry
_MAX_INTEGER = 1 << 31
_MAX_UPDATES = 2  # section 4.2: the smallest size since the last block, then the final one


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
        left, at = self._max_bytes, self._updates(block)
        while at < len(block):
            header, at = self._field(block, at)
            headers.append(header)
            left -= _size(header)
            if left < 0:
                raise ProtocolFault(ErrorCode.ENHANCE_YOUR_CALM, f"more than {self._max_bytes} bytes of headers")
        return headers

    def _updates(self, block: bytes) -> int:
        """Apply table size updates (section 6.3), and return the offset of the first header."""
        at = count = 0
        while at < len(block) and block[at] & 0xE0 == 0x20:
            limit, at = _integer(block, at, 5)
            count += 1
            if limit > TABLE_BYTES or count > _MAX_UPDATES:
                raise _fault(f"table size {limit}: allowed are {_MAX_UPDATES} updates to at most {TABLE_BYTES} bytes")
            self._limit = limit
            self._evict(0)
        return at

    def _field(self, block: bytes, at: int) -> tuple[Header, int]:
        """Decode one header field (section 6), and return the offset of the next one."""
        byte = block[at]
        if byte & 0x80:  # indexed
            index, at = _integer(block, at, 7)
            return self._entry(index), at
        if byte & 0x40:  # literal, added to the table
            header, at = self._literal(block, at, 6)
            self._remember(header)
            return header, at
        if byte & 0x20:
            raise _fault("a table size update after the first header")
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
