"""Encodes integer matrices into bytes that compress well. Every row of a matrix is one series over time.

First a series' first value is subtracted and a common divisor divided out (sectors of 512, pages of 4096, steps of
15 MHz). The cheapest of three predictions (its mean; its mean slope; its last slope) then leaves small residuals. They
are written byte plane by byte plane, with series sorted by their widest residual, so that bytes of similar distribution
are adjacent. All arithmetic wraps at 64 bits, which makes every step exact for every input.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.blocks.bytes_reader import BytesReader
from flyball_collector.blocks.errors import BlockError

Integers = NDArray[np.int64]

MEAN, SLOPE, LAST_SLOPE = 0, 1, 2  # predictions of a series

_SAMPLE = 8  # values from which the divisor is guessed; it is then checked against all


class _Coded(NamedTuple):
    """Series in their written form, one entry each."""

    first: Integers
    divisors: Integers
    modes: NDArray[np.uint8]
    bases: Integers
    codes: NDArray[np.uint64]
    bits: NDArray[np.uint8]

    def part(self, rows: slice) -> "_Coded":
        """Return some of the series."""
        return _Coded(
            self.first[rows], self.divisors[rows], self.modes[rows], self.bases[rows], self.codes[rows], self.bits[rows]
        )

    def sections(self) -> Iterator[bytes]:
        """Return the sections in the order in which `MatrixReader` reads them."""
        odd = np.flatnonzero(self.divisors != 1)
        yield b"".join(
            (
                self.bits.tobytes(),
                self.modes.tobytes(),
                np.uint32(len(odd)).tobytes(),
                odd.astype("<u4").tobytes(),
                self.divisors[odd].astype("<i8").tobytes(),
            )
        )
        yield _planes(self.first)
        yield _planes(_zigzag(self.bases).view(np.int64))
        yield from _residual_planes(self.codes, self.bits)


def write_matrix(series: Integers) -> Iterator[bytes]:
    """Return sections from which `MatrixReader` restores `series` (count × times, at least one time)."""
    return _code(series).sections()


def write_matrices(*matrices: Integers) -> Iterator[Iterator[bytes]]:
    """Encode matrices with the same number of times. Together they are faster, because each call has a fixed cost."""
    coded = _code(np.concatenate(matrices))
    first = 0
    for matrix in matrices:
        rows, first = slice(first, first + len(matrix)), first + len(matrix)
        yield coded.part(rows).sections()


def _code(series: Integers) -> _Coded:
    """Encode series. A constant one is stored as its first value alone."""
    first = series[:, 0].copy()
    offsets = series - first[:, None]
    moving = np.flatnonzero(offsets.any(axis=1))
    count, times = series.shape
    divisors, modes = np.ones(count, dtype=np.int64), np.full(count, MEAN, dtype=np.uint8)
    bases, codes = np.zeros(count, dtype=np.int64), np.zeros((count, times), dtype=np.uint64)
    if len(moving):
        offsets = offsets[moving]
        divisors[moving] = _divide_out(offsets)
        modes[moving], bases[moving], residuals = _predict(offsets)
        codes[moving] = _zigzag(residuals)
    return _Coded(first, divisors, modes, bases, codes, _bit_lengths(codes.max(axis=1)))


def _divide_out(offsets: Integers) -> Integers:
    """Divide each series by its greatest common divisor, in place. Return the divisors. No series may be constant."""
    sizes = np.abs(offsets).view(np.uint64)
    common = np.gcd.reduce(sizes[:, 1 : 1 + _SAMPLE], axis=1)
    candidates = np.flatnonzero(common != 1)
    common[candidates] = np.gcd.reduce(sizes[candidates], axis=1)
    divisors = np.where(common < 1 << 62, common, 1).astype(np.int64)
    rows = np.flatnonzero(divisors != 1)
    offsets[rows] //= divisors[rows, None]
    return divisors


def _predict(offsets: Integers) -> tuple[NDArray[np.uint8], Integers, Integers]:
    """Return the cheapest prediction of each series, its base, and the residuals."""
    count, times = offsets.shape
    residuals = np.empty((3, count, times), dtype=np.int64)
    bases = np.empty((3, count), dtype=np.int64)
    means = offsets.sum(axis=1, dtype=np.float64) / times
    bases[MEAN] = np.clip(means, -(2.0**62), 2.0**62)  # any base is exact; this one cannot overflow
    np.subtract(offsets, bases[MEAN, :, None], out=residuals[MEAN])
    slopes = offsets[:, 1:] - offsets[:, :-1]  # there are at least two times, else the series would be constant
    bases[SLOPE] = offsets[:, -1] // (times - 1)
    residuals[SLOPE, :, 0] = 0
    np.subtract(slopes, bases[SLOPE, :, None], out=residuals[SLOPE, :, 1:])
    bases[LAST_SLOPE] = slopes[:, 0]
    residuals[LAST_SLOPE, :, :2] = 0
    np.subtract(slopes[:, 1:], slopes[:, :-1], out=residuals[LAST_SLOPE, :, 2:])
    modes = _costs(residuals).argmin(axis=0)
    rows = np.arange(count)
    return modes.astype(np.uint8), bases[modes, rows], residuals[modes, rows]


def _costs(residuals: Integers) -> Integers:
    """Return the bits of a series for each prediction. The exponent of a float is about the length of the integer."""
    exponents = (np.abs(residuals).astype(np.float32) + np.float32(1)).view(np.int32) >> 23
    costs: Integers = exponents.sum(axis=2, dtype=np.int64)
    return costs


def _zigzag(numbers: Integers) -> NDArray[np.uint64]:
    return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)


def _unzigzag(codes: NDArray[np.uint64]) -> Integers:
    return (codes >> np.uint64(1)).view(np.int64) ^ -(codes & np.uint64(1)).view(np.int64)


def _bit_lengths(codes: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the bits that hold each code; one too many where the conversion to float rounds up, which is harmless."""
    return np.minimum(np.frexp(codes.astype(np.float64))[1], 64).astype(np.uint8)


def _planes(numbers: Integers) -> bytes:
    return np.ascontiguousarray(numbers.astype("<i8").view(np.uint8).reshape(-1, 8).T).tobytes()


def _residual_planes(codes: NDArray[np.uint64], bits: NDArray[np.uint8]) -> Iterator[bytes]:
    order = np.argsort(bits, kind="stable")
    lengths = bits[order]
    planes = codes[order].astype("<u8", copy=False).view(np.uint8).reshape(*codes.shape, 8)
    for plane in range(8):
        start, full = np.searchsorted(lengths, (8 * plane, 8 * plane + 8), side="right").tolist()
        if start == len(lengths):
            return  # no series is wider
        yield planes[start:full, :, plane].tobytes()  # the top byte of these series: mostly small
        yield planes[full:, :, plane].tobytes()  # noise


class MatrixReader:
    """One encoded matrix. Any of its series can be read."""

    def __init__(self, reader: BytesReader, count: int, times: int) -> None:
        self._count, self._times = count, times
        self._bits = reader.array(np.uint8, count)
        self._modes = reader.array(np.uint8, count)
        odd = int(reader.array(np.dtype("<u4"), 1)[0])
        if odd > count:
            raise BlockError("encoded matrix: more divisors than series; the data are damaged")
        rows = reader.array(np.dtype("<u4"), odd)
        divisors = reader.array(np.dtype("<i8"), odd)
        if (
            self._bits.max(initial=0) > 64
            or self._modes.max(initial=0) > LAST_SLOPE
            or rows.max(initial=0) >= max(count, 1)
        ):
            raise BlockError("encoded matrix: invalid header; the data are damaged")
        self._divisors = np.ones(count, dtype=np.int64)
        self._divisors[rows] = divisors
        self._first = _from_planes(reader.array(np.uint8, 8 * count))
        self._bases = _unzigzag(_from_planes(reader.array(np.uint8, 8 * count)).view(np.uint64))
        self._order = np.argsort(self._bits, kind="stable")
        starts = np.searchsorted(self._bits[self._order], np.arange(0, 64, 8), side="right").tolist()
        self._planes = [
            (start, reader.array(np.uint8, (count - start) * times).reshape(-1, times))
            for start in starts
            if start < count
        ]

    def read(self, rows: NDArray[np.intp] | None = None) -> Integers:
        """Return the given series, or all; count × times."""
        if rows is None:
            rows = np.arange(self._count)
        residuals = _unzigzag(self._codes(rows))
        offsets = _restore(residuals, self._modes[rows], self._bases[rows])
        result: Integers = offsets * self._divisors[rows, None] + self._first[rows, None]
        return result

    def _codes(self, rows: NDArray[np.intp]) -> NDArray[np.uint64]:
        places = np.empty(self._count, dtype=np.intp)
        places[self._order] = np.arange(self._count)
        places = places[rows]
        raw = np.zeros((len(rows), self._times, 8), dtype=np.uint8)
        for plane, (start, values) in enumerate(self._planes):
            there = places >= start
            raw[there, :, plane] = values[places[there] - start]
        return raw.view("<u8").astype(np.uint64, copy=False)[:, :, 0]


def _restore(residuals: Integers, modes: NDArray[np.uint8], bases: Integers) -> Integers:
    mean, slope, last = (np.flatnonzero(modes == mode) for mode in (MEAN, SLOPE, LAST_SLOPE))
    if len(mean):
        residuals[mean] += bases[mean, None]
    if len(slope):
        residuals[slope, 1:] += bases[slope, None]
        residuals[slope] = residuals[slope].cumsum(axis=1)
    if len(last):
        residuals[last, 1:2] = bases[last, None]
        residuals[last] = residuals[last].cumsum(axis=1).cumsum(axis=1)
    return residuals


def _from_planes(planes: NDArray[np.uint8]) -> Integers:
    return np.ascontiguousarray(planes.reshape(8, -1).T).view("<i8").astype(np.int64, copy=False)[:, 0]
