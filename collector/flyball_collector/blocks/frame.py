"""The outer format of encoded bytes: magic, version, size, and one zstd frame with a checksum.

Large sections with different statistics (bases, low bytes, high bytes) are separate zstd blocks: each gets its own
Huffman table, which saves more than it costs from about a kilobyte.
"""

import struct
import threading
from collections.abc import Iterable

import zstandard

from flyball_collector.blocks.errors import BlockError

VERSION = 1
MAX_BYTES = 64 * 1024 * 1024  # per block, decompressed: 16 times the largest accepted message

_MAGIC = b"FB"
_HEAD = struct.Struct("<2sBI")
_OWN_TABLE_BYTES = 1024
"""A block of 171 columns takes 10.47 KB with this limit, 10.54 if all sections have a table, 11.06 if none has."""

_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(1, write_checksum=True)


def seal(sections: Iterable[bytes]) -> bytes:
    """Compress sections into one string of bytes."""
    parts = [part for part in sections if part]
    size = sum(map(len, parts))
    if size > MAX_BYTES:
        raise BlockError(f"block of {size} bytes; the limit is {MAX_BYTES}: store fewer records at once")
    # Compressors are cheap to create and must not be shared between threads.
    stream = zstandard.ZstdCompressor(compression_params=_PARAMETERS).compressobj(size=size)
    out = [_HEAD.pack(_MAGIC, VERSION, size)]
    for part in parts:
        out.append(stream.compress(part))
        if len(part) >= _OWN_TABLE_BYTES:
            out.append(stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
    out.append(stream.flush())
    return b"".join(out)


def unseal(sealed: bytes) -> bytes:
    """Return the decompressed sections. Damaged, foreign, newer or too large data raise `BlockError`."""
    if len(sealed) < _HEAD.size:
        raise BlockError(f"encoded block is truncated: it has {len(sealed)} bytes")
    magic, version, size = _HEAD.unpack_from(sealed)
    if magic != _MAGIC:
        raise BlockError(f"not an encoded block: it begins with {magic!r} instead of {_MAGIC!r}")
    if not version:
        raise BlockError("encoded block is damaged: format 0 does not exist")
    if version > VERSION:
        raise BlockError(f"encoded block has format {version}, this version of Flyball reads up to {VERSION}: upgrade")
    if size > MAX_BYTES:
        raise BlockError(f"encoded block claims {size} bytes; the limit is {MAX_BYTES}")
    raw = _inflate(sealed[_HEAD.size :], size)
    if len(raw) != size:
        raise BlockError(f"encoded block is damaged: it has {len(raw)} bytes, but its header claims {size}")
    return raw


class _PerThread(threading.local):
    """Objects of one thread: they must not be shared, and creating one takes longer than most of its work."""

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor()


_per_thread = _PerThread()


def decompressor() -> zstandard.ZstdDecompressor:
    """Return the decompressor of this thread."""
    return _per_thread.decompressor


def _inflate(frame: bytes, size: int) -> bytes:
    """Decompress at most `size` bytes, whatever the frame claims."""
    try:
        claimed = zstandard.get_frame_parameters(frame).content_size
        if claimed not in {zstandard.CONTENTSIZE_UNKNOWN, size}:
            raise BlockError(f"encoded block is damaged: its frame claims {claimed} bytes, its header {size}")
        return decompressor().decompress(frame, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise BlockError(f"encoded block of {len(frame)} bytes is damaged: {error}") from None
