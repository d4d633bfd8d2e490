"""Compresses a page while it is written: each piece is deflated, and all are sent as one gzip stream."""

import struct
import zlib
from collections.abc import Iterable

from isal import isal_zlib

LEVEL = 1  # higher levels cost more time than the smaller size saves

# RFC 1952: magic, deflate, no flags, no time, fastest algorithm, unknown system
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
_TRAILER = struct.Struct("<II")
_LAST_BLOCK = b"\x03\x00"  # an empty block, because no piece knows whether it is the last


class CachedPiece(bytes):
    """A piece that may be sent again, and is deflated once."""

    deflated: bytes | None = None


def gzip_stream(pieces: Iterable[bytes]) -> bytes:
    """Return one gzip member, because some readers stop after the first. The page is never in memory as text."""
    parts = [_HEADER]
    checksum = size = 0
    for piece in pieces:
        parts.append(_deflated(piece))
        checksum, size = isal_zlib.crc32(piece, checksum), size + len(piece)
    return b"".join([*parts, _LAST_BLOCK, _TRAILER.pack(checksum, size & 0xFFFFFFFF)])


def gzip_at_once(body: bytes) -> bytes:
    """Return a small page as gzip."""
    return isal_zlib.compress(body, LEVEL, wbits=16 + zlib.MAX_WBITS)


def _deflated(piece: bytes) -> bytes:
    if not isinstance(piece, CachedPiece):
        return _deflate(piece)
    if piece.deflated is None:
        piece.deflated = _deflate(piece)
    return piece.deflated


def _deflate(piece: bytes) -> bytes:
    """Deflate a piece into blocks that end on a byte and refer to no earlier text, so that they can be sent again."""
    packer = isal_zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
