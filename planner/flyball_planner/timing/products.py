"""Times of matrix products on devices with matrix units, from their shapes."""

from functools import reduce
from typing import Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.precision import NumberFormat
from flyball_planner.timing.coefficients import Coefficient

Table = NDArray[np.float64]  # products × distinct combinations of the layout's fields
Column = NDArray[np.float64]
Places = NDArray[np.intp]

TILE = 128.0  # shorter edge of a thread block's output tile; the other edge is twice as long (cuBLAS, Volta to Hopper)
SIMPLE_BLOCK = 64.0  # the same without matrix units: cuBLAS uses 128 × 64 in FP32 for few blocks
FINE_TILE = 16.0  # size of a matrix unit: the smallest tile of kernels for odd sizes
PLAIN, CONVOLVED, GROUPED = 0.0, 1.0, 2.0
"""Kinds of products: plain ones; convolutions, which gather their input; experts' products with varying rows."""
ALIGNMENT = 64.0  # 128 bytes of 16-bit numbers: NVIDIA's guide to matrix products, Ampere and later
SPLIT_INNER = 1024.0  # longer inner dimensions are split over idle units, which limits the cost of the last wave
LEAST_INNER = 256.0  # of the parts into which a product of less than one wave is split


class Products(Struct, frozen=True):
    """The products of one forward pass on one device: `rows`×`inner` times `inner`×`columns`, each `count` times."""

    rows: Table
    inner: Table
    columns: Table
    count: Table
    together: Table  # equal products that one kernel computes, such as those of a device's experts
    rate: Table  # FLOP/s that the best product reaches in their format
    trained: Table  # 1 if the gradient of the right-hand side is computed too
    kind: Table  # one of the kinds above
    tile: Table  # edge of the smallest tile
    block: Table  # edge of a multiprocessor's block
    moved: Table  # bytes between memory and units, counting each number once
    place: Places  # each layout's column in the tables

    @classmethod
    def none(cls, layouts: int) -> Self:
        """Return a table without products."""
        return cls(**dict.fromkeys(TABLES, np.zeros((0, layouts))), place=np.arange(layouts))

    def at(self, place: Places) -> Self:
        """Return a separate column for each of some places in the tables."""
        return type(self)(**{name: getattr(self, name)[:, place] for name in TABLES}, place=np.arange(len(place)))

    @property
    def flops(self) -> Column:
        """Return the FLOPs of one forward pass."""
        return self._added(2 * self.rows * self.inner * self.columns * self.count * self.together)

    @property
    def weights(self) -> Column:
        """Return the numbers on the right-hand sides."""
        return self._added(self.inner * self.columns * self.count * self.together)

    @property
    def expert_weights(self) -> Column:
        """Return the numbers on the right-hand sides of experts' products."""
        return self._added(self.inner * self.columns * self.count * self.together * (self.kind == GROUPED))

    def _added(self, table: Table) -> Column:
        return _added(table)[self.place] if len(table) else np.zeros(len(self.place))


TABLES = tuple(name for name in Products.__struct_fields__ if name != "place")


class Unit(Struct, frozen=True):
    """The device as its matrix units see it, in columns of layouts."""

    units: NDArray[np.float64]  # multiprocessors
    bytes_per_second: NDArray[np.float64]


class Speed(Struct, frozen=True):
    """The speed of other products relative to the best one."""

    reached: Coefficient  # share of the best product's rate
    ramp: Coefficient  # waves of `SPLIT_INNER` lost while the device fills and drains
    tile: Coefficient  # seconds to begin and to write a tile, in which its multiprocessor multiplies nothing
    unaligned: Coefficient  # remaining share of the speed if an edge is not a multiple of `ALIGNMENT`
    convolved: Coefficient  # the same for convolutions
    grouped: Coefficient  # the same for experts' products


def block_edge(device: ComputeDevice, compute: NumberFormat) -> float:
    """Return the edge of a block, which is smaller without matrix units."""
    return SIMPLE_BLOCK if compute is NumberFormat.FP32 and device.kind is not DeviceKind.CPU else TILE


def products_seconds(products: Products, unit: Unit, speed: Speed) -> tuple[Column, Column]:
    """Return the seconds of the forward and the backward pass.

    The backward pass computes the gradients of left-hand sides and of trained right-hand sides. Layouts that share a
    column of the tables must have the same device and speed.
    """
    rows, inner, columns, place = products.rows, products.inner, products.columns, products.place
    if not rows.size:
        return np.zeros(len(place)), np.zeros(len(place))
    if rows.shape[1] < len(place):
        one = np.zeros(rows.shape[1], dtype=np.intp)
        one[place] = np.arange(len(place))
        unit = Unit(unit.units[one], unit.bytes_per_second[one])
    rate = _rate(products, speed)
    forward = _seconds(rows, inner, columns, products, unit, speed, rate)
    left = _seconds(rows, columns, inner, products, unit, speed, rate)
    right = _seconds(inner, rows, columns, products, unit, speed, rate)
    return _added(forward)[place], (_added(left) + _added(right * products.trained))[place]


def _rate(products: Products, speed: Speed) -> Table:
    """Return the FLOP/s of each product, in both directions."""
    odd = (products.inner % ALIGNMENT > 0) | (products.columns % ALIGNMENT > 0)
    unequal = (products.kind == GROUPED) & (products.together > 1)  # a single expert of a device is a plain product
    kind = np.where(products.kind == CONVOLVED, speed.convolved, np.where(unequal, speed.grouped, 1.0))
    slowed = np.where(odd & (products.kind == PLAIN), speed.unaligned, 1.0)
    rate: Table = np.maximum(products.rate * speed.reached * kind * slowed, 1.0)
    return rate


def _seconds(
    rows: Table, inner: Table, columns: Table, products: Products, unit: Unit, speed: Speed, rate: Table
) -> Table:
    """Return the longer of computing and moving. Computation takes whole tiles, and the device fills and drains.

    A product with fewer tiles than multiprocessors is split along its inner dimension, so that all of them work.
    """
    tile = np.maximum(products.tile, 1.0)
    block = np.maximum(products.block, 1.0)
    tiles = products.together * np.ceil(rows / tile) * np.ceil(columns / tile) * (tile / block) ** 2 / 2
    waves = tiles / unit.units
    idle = np.ceil(waves) - waves + speed.ramp
    part = np.minimum(inner, np.where(waves < 1, LEAST_INNER, SPLIT_INNER))
    computed = 4 * block * block * unit.units * (waves * inner + idle * part)
    working = computed / rate + np.maximum(waves, products.count > 0) * speed.tile
    longest: Table = np.maximum(working, products.moved / unit.bytes_per_second) * products.count
    return longest


def _added(table: Table) -> Column:
    """Sum row by row, so that a column's sum does not depend on the other columns."""
    total: Column = reduce(np.add, table)
    return total
