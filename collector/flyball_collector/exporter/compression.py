"""A page compressed while it is written: piece after piece is deflated, and they leave as one gzip stream."""

import struct
import zlib
from collections.abc import Iterable

from isal import isal_zlib

LEVEL = 1  # what 2 and more save in bytes takes longer to make than to send

# RFC 1952: magic, deflate, no flags, no time, fastest algorithm, unknown system
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
_TRAILER = struct.Struct("<II")
_LAST_BLOCK = b"\x03\x00"  # an empty one: no piece knows whether it is the last


class Lasting(bytes):
    """A piece that may well come again, and is deflated once."""

    deflated: bytes | None = None


def gzip_stream(pieces: Iterable[bytes]) -> bytes:
    """One gzip member, for there are readers that stop after the first; the page is never held whole as text."""
    parts = [_HEADER]
    checksum = size = 0
    for piece in pieces:
        parts.append(_deflated(piece))
        checksum, size = isal_zlib.crc32(piece, checksum), size + len(piece)
    return b"".join([*parts, _LAST_BLOCK, _TRAILER.pack(checksum, size & 0xFFFFFFFF)])


def gzip_at_once(body: bytes) -> bytes:
    """The same of a small page."""
    return isal_zlib.compress(body, LEVEL, wbits=16 + zlib.MAX_WBITS)


def _deflated(piece: bytes) -> bytes:
    if not isinstance(piece, Lasting):
        return _deflate(piece)
    if piece.deflated is None:
        piece.deflated = _deflate(piece)
    return piece.deflated


def _deflate(piece: bytes) -> bytes:
    """Blocks that end on a byte's edge and refer to no text before them, so that they can be kept and sent again."""
    packer = isal_zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
