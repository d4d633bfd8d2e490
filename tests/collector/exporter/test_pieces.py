"""Pieces of a page: what is kept from one rendering to the next never shows in what is written."""

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.exporter.compression import Lasting, gzip_stream
from flyball_collector.exporter.pieces import ROWS, Pieces

HEAD = b"\n# TYPE x gauge"
VALUES = st.sampled_from([0.0, -0.0, 1.0, 1.5, -3.0, 1e300, math.nan])
SERIES = st.sampled_from([b"\nx{a,b} ", b"\nx{c} ", b"\ny "])


def plainly(prefixes: Sequence[bytes], values: Sequence[float], least: float) -> bytes:
    """A family line by line."""
    lines = [p + repr(v).encode() for p, v in zip(prefixes, values, strict=True) if v >= least]
    return HEAD + b"".join(lines) if lines else b""


def written(pieces: Pieces, prefixes: Sequence[bytes], values: Sequence[float], least: float = -math.inf) -> bytes:
    """One rendering of one family."""
    pieces.begin()
    return b"".join(pieces.family("x", HEAD, prefixes, np.array(values, dtype=np.float64), least=least))


@given(st.lists(st.tuples(st.lists(st.tuples(SERIES, VALUES), max_size=3), st.sampled_from([0.0, -math.inf]))))
def test_every_rendering_is_as_if_it_were_the_first(
    renderings: list[tuple[list[tuple[bytes, float]], float]],
) -> None:
    """Whatever moves, comes, goes or stands still, each line says what is true now; each rendering is made twice."""
    pieces = Pieces()
    for rows, least in [each for each in renderings for _ in range(2)]:
        prefixes, values = [prefix for prefix, _ in rows], [value for _, value in rows]
        plain = plainly(prefixes, values, least).replace(b" 1e+300", b" 1e300")  # the encoder's way to write it
        assert written(pieces, prefixes, values, least) == plain
        assert pieces.series == sum(value >= least for value in values)


def test_what_stands_still_is_written_twice_and_then_kept() -> None:
    """The second time shows that it lasts: from then on it is the same object, deflated once; until it moves."""
    pieces, prefixes = Pieces(), [b"\nx "]
    renderings: list[bytes] = []
    for value in (1.0, 1.0, 1.0, 2.0):
        pieces.begin()
        renderings += pieces.family("x", HEAD, prefixes, np.array([value]))
        gzip_stream(renderings[-1:])
    first, second, third, moved = renderings
    assert third is second
    assert isinstance(second, Lasting)
    assert second.deflated is not None
    assert not isinstance(first, Lasting)
    assert not isinstance(moved, Lasting)


def test_whole_lines_are_kept_too() -> None:
    """Lines that carry their values are the same object from the second time on, and follow when one changes."""
    pieces = Pieces()
    renderings: list[bytes] = []
    for line in (b"\nx 1", b"\nx 1", b"\nx 1", b"\ny 1"):
        pieces.begin()
        renderings += pieces.whole("x", HEAD, [line])
    assert renderings[2] is renderings[1]
    assert renderings[3] == HEAD + b"\ny 1"
    assert pieces.series == 1


def test_a_piece_that_moves_leaves_the_others_kept() -> None:
    """Of a long family, only the piece in which a value moved is written anew, and the head stands once."""
    pieces = Pieces()
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
