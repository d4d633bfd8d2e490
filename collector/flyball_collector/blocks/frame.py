"""The outside of encoded bytes: magic, version, size, and one zstd frame with a checksum.

Large sections of unlike statistics (bases, low bytes, high bytes) are zstd blocks of their own: each gets its own
Huffman table, which saves more than it costs from about a kilobyte on.
"""

import struct
import threading
from collections.abc import Iterable

import zstandard

from flyball_collector.blocks.errors import BlockError

VERSION = 1
MAX_BYTES = 64 * 1024 * 1024  # of one block, decompressed: 16 times the largest message that is taken

_MAGIC = b"FB"
_HEAD = struct.Struct("<2sBI")
_OWN_TABLE_BYTES = 1024  # 171 columns take 10.54 KB a block when all sections have one, 10.47 so, 11.06 when none has
_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(1, write_checksum=True)


def seal(sections: Iterable[bytes]) -> bytes:
    """Compress sections into one string of bytes."""
    parts = [part for part in sections if part]
    size = sum(map(len, parts))
    if size > MAX_BYTES:
        raise BlockError(f"block of {size} bytes is over the limit of {MAX_BYTES}: store fewer records at once")
    # A compressor is not safe to share between threads, and cheap to make.
    stream = zstandard.ZstdCompressor(compression_params=_PARAMETERS).compressobj(size=size)
    out = [_HEAD.pack(_MAGIC, VERSION, size)]
    for part in parts:
        out.append(stream.compress(part))
        if len(part) >= _OWN_TABLE_BYTES:
            out.append(stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
    out.append(stream.flush())
    return b"".join(out)


def unseal(sealed: bytes) -> bytes:
    """The sections, one after another; refuses what is damaged, foreign, newer or too large."""
    if len(sealed) < _HEAD.size:
        raise BlockError(f"encoded block of {len(sealed)} bytes is cut off")
    magic, version, size = _HEAD.unpack_from(sealed)
    if magic != _MAGIC:
        raise BlockError(f"encoded block begins with {magic!r}, not {_MAGIC!r}: these bytes are no block")
    if not version:
        raise BlockError("encoded block has format 0, which never was: it is damaged")
    if version > VERSION:
        raise BlockError(f"encoded block has format {version}, this version reads up to {VERSION}: upgrade Flyball")
    if size > MAX_BYTES:
        raise BlockError(f"encoded block claims {size} bytes, the limit is {MAX_BYTES}")
    raw = _inflate(sealed[_HEAD.size :], size)
    if len(raw) != size:
        raise BlockError(f"encoded block holds {len(raw)} bytes, its head says {size}: it is damaged")
    return raw


class _Own(threading.local):
    """Of each thread: none is safe to share, and making one takes longer than most of its work."""

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor()


_own = _Own()


def decompressor() -> zstandard.ZstdDecompressor:
    """That of this thread."""
    return _own.decompressor


def _inflate(frame: bytes, size: int) -> bytes:
    """At most `size` bytes are made, whatever the frame claims of itself."""
    try:
        claimed = zstandard.get_frame_parameters(frame).content_size
        if claimed not in {zstandard.CONTENTSIZE_UNKNOWN, size}:
            raise BlockError(f"encoded block claims {claimed} bytes inside, its head says {size}: it is damaged")
        return decompressor().decompress(frame, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise BlockError(f"encoded block of {len(frame)} bytes is damaged: {error}") from None
