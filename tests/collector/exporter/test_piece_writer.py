"""The piece writer: cached pieces are never visible in the output."""

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.exporter.compression import CachedPiece, gzip_stream
from flyball_collector.exporter.piece_writer import ROWS, PieceWriter

HEAD = b"\n# TYPE x gauge"
VALUES = st.sampled_from([0.0, -0.0, 1.0, 1.5, -3.0, 1e300, math.nan])
SERIES = st.sampled_from([b"\nx{a,b} ", b"\nx{c} ", b"\ny "])


def plain_family(prefixes: Sequence[bytes], values: Sequence[float], minimum: float) -> bytes:
    """Return a family, written line by line."""
    lines = [p + repr(v).encode() for p, v in zip(prefixes, values, strict=True) if v >= minimum]
    return HEAD + b"".join(lines) if lines else b""


def written(
    pieces: PieceWriter, prefixes: Sequence[bytes], values: Sequence[float], minimum: float = -math.inf
) -> bytes:
    """Render one family once."""
    pieces.begin()
    return b"".join(pieces.family("x", HEAD, prefixes, np.array(values, dtype=np.float64), minimum=minimum))


@given(st.lists(st.tuples(st.lists(st.tuples(SERIES, VALUES), max_size=3), st.sampled_from([0.0, -math.inf]))))
def test_every_rendering_equals_a_first_one(
    renderings: list[tuple[list[tuple[bytes, float]], float]],
) -> None:
    """Whatever changes, each line has its current value; each rendering is made twice."""
    pieces = PieceWriter()
    for rows, minimum in [each for each in renderings for _ in range(2)]:
        prefixes, values = [prefix for prefix, _ in rows], [value for _, value in rows]
        plain = plain_family(prefixes, values, minimum).replace(b" 1e+300", b" 1e300")  # the encoder's notation
        assert written(pieces, prefixes, values, minimum) == plain
        assert pieces.series == sum(value >= minimum for value in values)


def test_an_unchanged_piece_is_cached_from_the_second_time() -> None:
    """From then on it is the same object, deflated once, until a value changes."""
    pieces, prefixes = PieceWriter(), [b"\nx "]
    renderings: list[bytes] = []
    for value in (1.0, 1.0, 1.0, 2.0):
        pieces.begin()
        renderings += pieces.family("x", HEAD, prefixes, np.array([value]))
        gzip_stream(renderings[-1:])
    first, second, third, moved = renderings
    assert third is second
    assert isinstance(second, CachedPiece)
    assert second.deflated is not None
    assert not isinstance(first, CachedPiece)
    assert not isinstance(moved, CachedPiece)


def test_complete_lines_are_cached() -> None:
    """Lines with values are the same object from the second time on, until one changes."""
    pieces = PieceWriter()
    renderings: list[bytes] = []
    for line in (b"\nx 1", b"\nx 1", b"\nx 1", b"\ny 1"):
        pieces.begin()
        renderings += pieces.lines("x", HEAD, [line])
    assert renderings[2] is renderings[1]
    assert renderings[3] == HEAD + b"\ny 1"
    assert pieces.series == 1


def test_a_change_affects_only_its_piece() -> None:
    """In a long family only the piece with the changed value is written again; the header is written once."""
    pieces = PieceWriter()
    prefixes, values = [b"\nx "] * (2 * ROWS), np.zeros(2 * ROWS)
    for _ in range(2):
        pieces.begin()
        before = list(pieces.family("x", HEAD, prefixes, values))
    values[-1] = 1.0
    pieces.begin()
    after = list(pieces.family("x", HEAD, prefixes, values))
    assert after[0] is before[0]
    assert after[1] == before[1][: -len(b"0.0")] + b"1.0"
    assert b"".join(after).count(HEAD) == 1
