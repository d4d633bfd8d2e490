"""Tests of the time of matrix products."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_device
from flyball_planner.precision import NumberFormat
from flyball_planner.timing.best_rates import OTHERS, achieved, best_rate
from flyball_planner.timing.products import (
    GROUPED,
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
PERFECT = Speed(reached=1.0, ramp=0.0, tile=0.0, unaligned=1.0, convolved=1.0, grouped=1.0)
RATE = 271e12  # FLOP/s of the best product on an A100
EDGES = st.integers(1, 64).map(lambda multiple: 128 * multiple)


def product(
    rows: float, inner: float, columns: float, trained: float = 1.0, block: float = TILE, experts: float = 0.0
) -> Products:
    """Return a single product in 16 bits, or those of some experts in one kernel."""
    together = max(1.0, experts)
    moved = 2.0 * together * (rows * inner + inner * columns + rows * columns)
    kind = GROUPED if experts else PLAIN
    columns_of = (rows, inner, columns, 1.0, together, RATE, trained, kind, TILE, block, moved)
    tables = (np.array([[float(each)]]) for each in columns_of)
    return Products(**dict(zip(TABLES, tables, strict=True)), place=np.array([0]))


def forward_seconds(products: Products, unit: Unit, speed: Speed) -> Table:
    """Return the seconds of the forward pass."""
    return products_seconds(products, unit, speed)[0]


def backward_seconds(products: Products, unit: Unit, speed: Speed) -> Table:
    """Return the seconds of the backward pass."""
    return products_seconds(products, unit, speed)[1]


def test_a_large_product_reaches_the_best_rate() -> None:
    """With many full waves the time depends only on the FLOPs."""
    products = product(128 * 108, 8192, 256 * 32)
    seconds = forward_seconds(products, A100, PERFECT)
    assert seconds[0] == pytest.approx(float(products.flops[0]) / RATE, rel=1e-3)


def test_a_thin_product_is_limited_by_memory() -> None:
    """A product with a single row takes as long as reading its matrix."""
    seconds = forward_seconds(product(1, 8192, 65_536), A100, PERFECT)
    assert seconds[0] == pytest.approx(2 * 65_536 * 8192 / 2.0e12, rel=0.01)


def test_one_tile_more_than_a_wave_costs_another_wave() -> None:
    """A wave with one tile takes as long as a full wave."""
    full = forward_seconds(product(128 * 108, 512, 256), A100, PERFECT)
    more = forward_seconds(product(128 * 109, 512, 256), A100, PERFECT)
    assert more[0] == pytest.approx(2 * full[0], rel=1e-6)


def test_small_blocks_use_a_device_better_than_large_ones() -> None:
    """32 large blocks take one wave of 108; the 128 small blocks take two waves that are a quarter as long."""
    large = forward_seconds(product(1024, 256, 1024), A100, PERFECT)
    small = forward_seconds(product(1024, 256, 1024, block=SIMPLE_BLOCK), A100, PERFECT)
    assert small[0] == pytest.approx(large[0] / 2)


def test_few_tiles_are_split_over_all_multiprocessors() -> None:
    """A product of 32 blocks on 108 multiprocessors reaches the best rate if its inner dimension is long."""
    inner = 100 * 1024
    seconds = forward_seconds(product(1024, inner, 1024), A100, PERFECT)
    assert seconds[0] == pytest.approx(2 * 1024 * inner * 1024 / RATE, rel=0.02)


def test_the_backward_pass_of_a_small_product_takes_longer_than_the_forward_pass() -> None:
    """Two small products take longer than one, although one of them has a short inner dimension."""
    usual = Speed(reached=0.9, ramp=0.5, tile=1.5e-6, unaligned=0.8, convolved=1.0, grouped=0.7)
    forward, backward = products_seconds(product(64, 784, 512), A100, usual)
    assert backward[0] > forward[0]


def test_devices_without_matrix_units_use_small_blocks() -> None:
    """A GPU in FP32 uses small blocks; a processor has no waves and keeps the tile."""
    v100, processor = find_device("V100 SXM2 32GB"), find_device("CPU_8C_3.5Ghz_baseline")
    assert block_edge(v100, NumberFormat.FP32) == SIMPLE_BLOCK
    assert block_edge(v100, NumberFormat.FP16) == block_edge(processor, NumberFormat.FP32) == TILE


def test_a_higher_power_limit_raises_the_clock() -> None:
    """GB300 has a limit of 1,400 W and GB200 of 1,200 W; the best rates have the same ratio."""
    rates = [best_rate(find_device(name), NumberFormat.BF16) for name in ("GB300", "GB200")]
    assert rates[0] / rates[1] == pytest.approx(1400 / 1200, rel=0.01)


def test_experts_of_a_device_share_one_kernel() -> None:
    """Sixteen experts fill the device together, so they take less time than sixteen products one after the other."""
    alone = forward_seconds(product(1024, 256, 1536), A100, PERFECT)[0]
    together = forward_seconds(product(1024, 256, 1536, experts=16), A100, PERFECT)[0]
    assert together < 0.75 * 16 * alone
    assert product(1024, 2048, 1536, experts=16).flops[0] == 16 * product(1024, 2048, 1536).flops[0]
    assert product(1024, 2048, 1536, experts=16).expert_weights[0] == 16 * 2048 * 1536
    assert product(1024, 2048, 1536).expert_weights[0] == 0.0


def test_only_several_experts_are_slower_than_a_plain_product() -> None:
    """Experts with unequal rows reach less of the rate; the only expert of a device is a plain product."""
    unequal = replace(PERFECT, grouped=0.5)
    one, two = (product(8192, 4096, 4096 * 8 / experts, experts=experts) for experts in (1, 2))
    plain = forward_seconds(product(8192, 4096, 4096 * 8), A100, unequal)[0]
    assert forward_seconds(one, A100, unequal)[0] == pytest.approx(plain)
    assert forward_seconds(two, A100, unequal)[0] == pytest.approx(2 * plain, rel=0.1)


def test_every_tile_has_a_beginning_and_an_end() -> None:
    """A short inner edge has as many tiles as a long one, so it loses as much time to begin and write them."""
    slow = replace(PERFECT, tile=2e-6)
    lost = [
        forward_seconds(product(8192, inner, 8192), A100, slow)[0]
        - forward_seconds(product(8192, inner, 8192), A100, PERFECT)[0]
        for inner in (1024, 8192)
    ]
    waves = 8192 / 128 * 8192 / 256 / 108
    assert lost == pytest.approx([2e-6 * waves, 2e-6 * waves])


def test_unaligned_edges_slow_a_product_down() -> None:
    """An inner edge that is not a multiple of 64 numbers is slower by the coefficient."""
    slow = replace(PERFECT, unaligned=0.5)
    assert (
        forward_seconds(product(4096, 4096 + 8, 4096), A100, slow)[0]
        > 1.9 * (forward_seconds(product(4096, 4096, 4096), A100, slow)[0])
    )


def test_frozen_weights_need_half_of_the_backward_pass() -> None:
    """Frozen weights need no weight gradient."""
    trained = backward_seconds(product(8192, 4096, 4096), A100, PERFECT)
    frozen = backward_seconds(product(8192, 4096, 4096, trained=0.0), A100, PERFECT)
    assert frozen[0] == pytest.approx(trained[0] / 2, rel=0.05)


@given(EDGES, EDGES, EDGES, st.floats(0.1, 1.0), st.floats(0.0, 4.0))
def test_no_product_is_faster_than_the_device(rows: int, inner: int, columns: int, reached: float, ramp: float) -> None:
    """No shape exceeds the rate of the units or of the memory."""
    products = product(rows, inner, columns)
    seconds = forward_seconds(products, A100, replace(PERFECT, reached=reached, ramp=ramp))[0]
    assert seconds >= float(products.flops[0]) / RATE * (1 - 1e-9)
    assert seconds >= float(products.moved[0, 0]) / 2.0e12 * (1 - 1e-9)


@given(EDGES, EDGES, EDGES)
def test_more_rows_never_take_less_time(rows: int, inner: int, columns: int) -> None:
    """The time does not fall with the size of a micro-batch."""
    less = forward_seconds(product(rows, inner, columns), A100, PERFECT)[0]
    more = forward_seconds(product(2 * rows, inner, columns), A100, PERFECT)[0]
    assert more >= less * (1 - 1e-9)


def test_no_products_take_no_time() -> None:
    """A model without matrices has an empty table."""
    assert forward_seconds(Products.none(3), A100, PERFECT).tolist() == [0.0, 0.0, 0.0]


def test_small_cards_have_their_own_multiprocessors() -> None:
    """A variant has its own number, a card without a row a typical one, and measured cards keep their shares."""
    found = {name: achieved(find_device(name)).units for name in ("RTX 3060", "RTX 3060 Ti", "RTX 4070 Ti SUPER", "T4")}
    assert found == {"RTX 3060": 28, "RTX 3060 Ti": 38, "RTX 4070 Ti SUPER": 66, "T4": 40}
    assert achieved(find_device("Radeon RX 7900 XTX")) == OTHERS
    assert achieved(find_device("RTX 4090")).units == 128
