"""Pages that are compressed in pieces: any reader of gzip gets them back whole."""

import gzip
import zlib

from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.exporter.compression import Lasting, gzip_at_once, gzip_stream

PIECES = st.lists(st.binary(max_size=200), max_size=20)


@given(PIECES)
def test_pieces_come_back_in_their_order(pieces: list[bytes]) -> None:
    """What is unpacked, checksum and size included, is the pieces one after the other."""
    assert gzip.decompress(gzip_stream(pieces)) == b"".join(pieces)


@given(PIECES)
def test_a_stream_is_one_member(pieces: list[bytes]) -> None:
    """A reader that stops after the first member has read everything."""
    reader = zlib.decompressobj(16 + zlib.MAX_WBITS)
    assert reader.decompress(gzip_stream(pieces)) == b"".join(pieces)
    assert (reader.eof, reader.unused_data) == (True, b"")


@given(PIECES)
def test_a_lasting_piece_is_the_same_each_time(pieces: list[bytes]) -> None:
    """What was deflated for one page is sent with the next."""
    lasting = [Lasting(piece) for piece in pieces]
    assert gzip_stream(lasting) == gzip_stream(pieces)
    kept = [piece.deflated for piece in lasting]
    assert None not in kept
    assert gzip_stream(lasting) == gzip_stream(pieces)
    assert all(piece.deflated is before for piece, before in zip(lasting, kept, strict=True))


def test_pieces_alone_are_hardly_larger_than_the_whole() -> None:
    """Pieces of the size of a page's lose no more than a hundredth to being deflated each for itself."""
    lines = [f'\nflyball_load{{instance="host-{n % 997:05d}",gpu="GPU-{n * 7919:012x}"}} {n / 7}' for n in range(16384)]
    pieces = ["".join(lines[first : first + 4096]).encode() for first in range(0, len(lines), 4096)]
    assert len(gzip_stream(pieces)) < 1.01 * len(gzip_at_once(b"".join(pieces)))
