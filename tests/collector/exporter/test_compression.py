"""Pages compressed in pieces: any reader of gzip gets the whole page."""

import gzip
import zlib

from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.exporter.compression import CachedPiece, gzip_at_once, gzip_stream

PIECES = st.lists(st.binary(max_size=200), max_size=20)


@given(PIECES)
def test_pieces_are_restored_in_order(pieces: list[bytes]) -> None:
    """Decompression, with checksum and size, gives the pieces one after another."""
    assert gzip.decompress(gzip_stream(pieces)) == b"".join(pieces)


@given(PIECES)
def test_a_stream_is_one_member(pieces: list[bytes]) -> None:
    """A reader that stops after the first member has everything."""
    reader = zlib.decompressobj(16 + zlib.MAX_WBITS)
    assert reader.decompress(gzip_stream(pieces)) == b"".join(pieces)
    assert (reader.eof, reader.unused_data) == (True, b"")


@given(PIECES)
def test_a_cached_piece_is_the_same_each_time(pieces: list[bytes]) -> None:
    """The deflated form of one page is sent with the next."""
    lasting = [CachedPiece(piece) for piece in pieces]
    assert gzip_stream(lasting) == gzip_stream(pieces)
    kept = [piece.deflated for piece in lasting]
    assert None not in kept
    assert gzip_stream(lasting) == gzip_stream(pieces)
    assert all(piece.deflated is before for piece, before in zip(lasting, kept, strict=True))


def test_separate_pieces_are_hardly_larger() -> None:
    """Deflating pieces of the usual size separately costs less than one percent."""
    lines = [f'\nflyball_load{{instance="host-{n % 997:05d}",gpu="GPU-{n * 7919:012x}"}} {n / 7}' for n in range(16384)]
    pieces = ["".join(lines[first : first + 4096]).encode() for first in range(0, len(lines), 4096)]
    assert len(gzip_stream(pieces)) < 1.01 * len(gzip_at_once(b"".join(pieces)))
