"""Matrix products on a device with matrix units: how long they take, from their shapes."""

from functools import reduce
from typing import Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.catalogue.hardware import Device, DeviceKind
from flyball_planner.precision import Format
from flyball_planner.timing.coefficients import Coefficient

Table = NDArray[np.float64]  # products × combinations of what they depend on
Column = NDArray[np.float64]
Places = NDArray[np.intp]

TILE = (
    128.0  # edge of the output tile that a thread block computes; the other edge is twice it (cuBLAS on Volta … Hopper)
)
SIMPLE_BLOCK = 64.0  # the same of units that multiply and add alone: cuBLAS takes 128 × 64 in FP32 for few blocks
FINE_TILE = 16.0  # what matrix units multiply at once: the least that a kernel for odd sizes computes
PLAIN, CONVOLVED, GROUPED = 0.0, 1.0, 2.0
"""Kinds: products proper; convolutions, which gather their input; those of experts, with as many rows as come."""
ALIGNMENT = 64.0  # 128 bytes of 16 bits: NVIDIA's guide to matrix products asks for it from Ampere on
SPLIT_INNER = 1024.0  # longer inner dimensions are split over idle units, so that a last wave costs no more than this


class Products(Struct, frozen=True):
    """The products of one forward pass on one device: `rows`×`inner` times `inner`×`columns`, each `count` times."""

    rows: Table
    inner: Table
    columns: Table
    count: Table
    rate: Table  # FLOP/s of the format they are computed in, as far as the best product reaches it
    trained: Table  # 1 where the gradient of the right-hand side is computed too
    kind: Table  # one of the kinds below
    tile: Table  # edge of the smallest piece that is computed at once
    block: Table  # edge of what a multiprocessor computes at once
    moved: Table  # bytes between memory and units, each number once
    place: Places  # of each layout, its column in the tables

    @classmethod
    def none(cls, layouts: int) -> Self:
        """No product at all."""
        return cls(**dict.fromkeys(TABLES, np.zeros((0, layouts))), place=np.arange(layouts))

    def at(self, place: Places) -> Self:
        """A column of its own for each of some places in the tables."""
        return type(self)(**{name: getattr(self, name)[:, place] for name in TABLES}, place=np.arange(len(place)))

    @property
    def flops(self) -> Column:
        """Of one forward pass."""
        return self._added(2 * self.rows * self.inner * self.columns * self.count)

    @property
    def weights(self) -> Column:
        """Numbers on the right-hand sides."""
        return self._added(self.inner * self.columns * self.count)

    @property
    def trained_weights(self) -> Column:
        """Those of them that are trained."""
        return self._added(self.inner * self.columns * self.count * self.trained)

    def _added(self, table: Table) -> Column:
        return _added(table)[self.place] if len(table) else np.zeros(len(self.place))


TABLES = tuple(name for name in Products.__struct_fields__ if name != "place")


class Unit(Struct, frozen=True):
    """The device as its matrix units see it; columns of layouts."""

    units: NDArray[np.float64]  # multiprocessors
    bytes_per_second: NDArray[np.float64]


class Speed(Struct, frozen=True):
    """How near to the best product others come."""

    reached: Coefficient  # share of the best rate
    ramp: Coefficient  # waves of `SPLIT_INNER` that filling and draining the device takes
    unaligned: Coefficient  # share of the speed that is left where an edge is no multiple of `ALIGNMENT`
    convolved: Coefficient  # the same of convolutions
    grouped: Coefficient  # and of experts' products


def block_edge(device: Device, compute: Format) -> float:
    """Units that multiply and add alone work on smaller blocks than matrix units."""
    return SIMPLE_BLOCK if compute is Format.FP32 and device.kind is not DeviceKind.CPU else TILE


def products_seconds(products: Products, unit: Unit, speed: Speed) -> tuple[Column, Column]:
    """The products themselves; and backward the gradients of their left-hand sides, and of the right-hand sides where
    they are trained. Layouts that share a column of the tables are on the same device at the same speed."""
    rows, inner, columns, place = products.rows, products.inner, products.columns, products.place
    if not rows.size:
        return np.zeros(len(place)), np.zeros(len(place))
    if rows.shape[1] < len(place):
        one = np.zeros(rows.shape[1], dtype=np.intp)
        one[place] = np.arange(len(place))
        unit = Unit(unit.units[one], unit.bytes_per_second[one])
    rate = _rate(products, speed)
    forward = _seconds(rows, inner, columns, products, unit, speed.ramp, rate)
    left = _seconds(rows, columns, inner, products, unit, speed.ramp, rate)
    right = _seconds(inner, rows, columns, products, unit, speed.ramp, rate)
    return _added(forward)[place], (_added(left) + _added(right * products.trained))[place]


def _rate(products: Products, speed: Speed) -> Table:
    """FLOP/s that each product reaches, in either direction."""
    odd = (products.inner % ALIGNMENT > 0) | (products.columns % ALIGNMENT > 0)
    kind = np.where(products.kind == CONVOLVED, speed.convolved, np.where(products.kind == GROUPED, speed.grouped, 1.0))
    slowed = np.where(odd & (products.kind == PLAIN), speed.unaligned, 1.0)
    rate: Table = np.maximum(products.rate * speed.reached * kind * slowed, 1.0)
    return rate


def _seconds(
    rows: Table, inner: Table, columns: Table, products: Products, unit: Unit, ramp: Coefficient, rate: Table
) -> Table:
    """The longer of computing and moving, where computing comes in whole tiles, and a device fills and drains."""
    tile = np.maximum(products.tile, 1.0)
    block = np.maximum(products.block, 1.0)
    tiles = np.ceil(rows / tile) * np.ceil(columns / tile) * (tile / block) ** 2 / 2
    waves = tiles / unit.units
    idle = np.ceil(waves) - waves + ramp
    computed = 4 * block * block * unit.units * (waves * inner + idle * np.minimum(inner, SPLIT_INNER))
    longest: Table = np.maximum(computed / rate, products.moved / unit.bytes_per_second) * products.count
    return longest


def _added(table: Table) -> Column:
    """Row by row, so that a column's sum does not depend on what stands beside it."""
    total: Column = reduce(np.add, table)
    return total
