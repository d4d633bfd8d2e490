"""Tests of how long matrix products take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_device
from flyball_planner.precision import Format
from flyball_planner.timing.achieved import best_rate
from flyball_planner.timing.products import (
    PLAIN,
    SIMPLE_BLOCK,
    TABLES,
    TILE,
    Products,
    Speed,
    Table,
    Unit,
    block_edge,
    products_seconds,
)

A100 = Unit(np.array([108.0]), np.array([2.0e12]))
PERFECT = Speed(reached=1.0, ramp=0.0, unaligned=1.0, convolved=1.0, grouped=1.0)
RATE = 271e12  # FLOP/s that the best product of an A100 reaches
EDGES = st.integers(1, 64).map(lambda multiple: 128 * multiple)


def product(rows: float, inner: float, columns: float, trained: float = 1.0, block: float = TILE) -> Products:
    """A single product in 16 bits."""
    moved = 2.0 * (rows * inner + inner * columns + rows * columns)
    columns_of = (rows, inner, columns, 1.0, RATE, trained, PLAIN, TILE, block, moved)
    tables = (np.array([[float(each)]]) for each in columns_of)
    return Products(**dict(zip(TABLES, tables, strict=True)), place=np.array([0]))


def forward_seconds(products: Products, unit: Unit, speed: Speed) -> Table:
    """Without the backward pass."""
    return products_seconds(products, unit, speed)[0]


def backward_seconds(products: Products, unit: Unit, speed: Speed) -> Table:
    """Without the forward pass."""
    return products_seconds(products, unit, speed)[1]


def test_a_large_product_runs_at_the_rate_that_products_reach() -> None:
    """Where waves are many and full, only FLOPs count."""
    wanted = product(128 * 108, 8192, 256 * 32)
    seconds = forward_seconds(wanted, A100, PERFECT)
    assert seconds[0] == pytest.approx(float(wanted.flops[0]) / RATE, rel=1e-3)


def test_a_thin_product_is_bound_by_memory() -> None:
    """A single row multiplies as fast as its matrix can be read."""
    seconds = forward_seconds(product(1, 8192, 65_536), A100, PERFECT)
    assert seconds[0] == pytest.approx(2 * 65_536 * 8192 / 2.0e12, rel=0.01)


def test_one_tile_more_than_a_wave_costs_another_wave() -> None:
    """A wave that holds one tile takes as long as a full one."""
    full = forward_seconds(product(128 * 108, 512, 256), A100, PERFECT)
    more = forward_seconds(product(128 * 109, 512, 256), A100, PERFECT)
    assert more[0] == pytest.approx(2 * full[0], rel=1e-6)


def test_small_blocks_fill_a_device_that_large_ones_leave_idle() -> None:
    """A product of 32 large blocks takes a whole wave of 108; its 128 small ones take two of a quarter as long."""
    large = forward_seconds(product(1024, 1024, 1024), A100, PERFECT)
    small = forward_seconds(product(1024, 1024, 1024, block=SIMPLE_BLOCK), A100, PERFECT)
    assert small[0] == pytest.approx(large[0] / 2)


def test_units_without_matrices_take_small_blocks() -> None:
    """In FP32 a GPU multiplies and adds alone; a processor has no waves to fill."""
    v100, processor = find_device("V100 SXM2 32GB"), find_device("CPU_8C_3.5Ghz_baseline")
    assert block_edge(v100, Format.FP32) == SIMPLE_BLOCK
    assert block_edge(v100, Format.FP16) == block_edge(processor, Format.FP32) == TILE


def test_a_higher_power_limit_raises_the_clock() -> None:
    """GB300 is GB200 with a limit of 1,400 instead of 1,200 W: its best products are faster by as much."""
    rates = [best_rate(find_device(name), Format.BF16) for name in ("GB300", "GB200")]
    assert rates[0] / rates[1] == pytest.approx(1400 / 1200, rel=0.01)


def test_edges_off_the_grid_slow_a_product_down() -> None:
    """Inner edges that are no multiple of 64 numbers cost the share that the coefficient says."""
    slow = replace(PERFECT, unaligned=0.5)
    assert (
        forward_seconds(product(4096, 4096 + 8, 4096), A100, slow)[0]
        > 1.9 * (forward_seconds(product(4096, 4096, 4096), A100, slow)[0])
    )


def test_frozen_weights_need_half_of_the_backward_pass() -> None:
    """What is not trained has no gradient of its own."""
    trained = backward_seconds(product(8192, 4096, 4096), A100, PERFECT)
    frozen = backward_seconds(product(8192, 4096, 4096, trained=0.0), A100, PERFECT)
    assert frozen[0] == pytest.approx(trained[0] / 2, rel=0.05)


@given(EDGES, EDGES, EDGES, st.floats(0.1, 1.0), st.floats(0.0, 4.0))
def test_no_product_is_faster_than_the_device(rows: int, inner: int, columns: int, reached: float, ramp: float) -> None:
    """Neither units nor memory do more than they can, whatever the shape."""
    wanted = product(rows, inner, columns)
    seconds = forward_seconds(wanted, A100, replace(PERFECT, reached=reached, ramp=ramp))[0]
    assert seconds >= float(wanted.flops[0]) / RATE * (1 - 1e-9)
    assert seconds >= float(wanted.moved[0, 0]) / 2.0e12 * (1 - 1e-9)


@given(EDGES, EDGES, EDGES)
def test_more_rows_never_take_less_time(rows: int, inner: int, columns: int) -> None:
    """Time rises with the size of a micro-batch."""
    less = forward_seconds(product(rows, inner, columns), A100, PERFECT)[0]
    more = forward_seconds(product(2 * rows, inner, columns), A100, PERFECT)[0]
    assert more >= less * (1 - 1e-9)


def test_no_products_take_no_time() -> None:
    """A model without matrices has an empty table."""
    assert forward_seconds(Products.none(3), A100, PERFECT).tolist() == [0.0, 0.0, 0.0]
