"""Layouts as the collector knows them."""

import pytest

from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge

POWER = gauge("gpu_power_watts", "watts", "Draw.", ("gpu", "index"))
THROTTLE = gauge("gpu_throttle_active", "", "Whether.", ("gpu", "index", "reason"))
SLICE = gauge("gpu_slice_memory_used_bytes", "bytes", "Used.", ("gpu", "index", "slice"))
HEAT = gauge("gpu_temperature_celsius", "celsius", "Heat.", ("gpu",))
LANE = gauge("pcie_lane_errors", "", "Errors.", ("index",))


def indices(*columns: Column) -> dict[str, int]:
    return dict(KnownLayout(Layout(columns)).gpu_indices)


def test_gpus_have_the_numbers_that_their_columns_are_labelled_with() -> None:
    """Whatever the order and however many columns; a slice's column carries the number of its whole GPU."""
    columns = (
        Column(POWER, ("GPU-b", "1")), Column(POWER, ("GPU-a", "0")), Column(THROTTLE, ("GPU-b", "1", "heat")),
        Column(SLICE, ("GPU-a", "0", "MIG-x")), Column(HEAT, ("GPU-c",)), Column(LANE, ("7",)),
    )  # fmt: skip
    assert indices(*columns) == {"GPU-a": 0, "GPU-b": 1}
    assert indices(Column(HEAT, ("GPU-c",))) == {}


def test_a_number_that_two_gpus_have_is_nobodys() -> None:
    """GPUs of two makers each count from zero: only a number that one of them has says which is meant."""
    own, shared = Column(POWER, ("GPU-a", "1")), (Column(POWER, ("GPU-b", "0")), Column(POWER, ("INTEL-c", "0")))
    assert indices(own, *shared) == {"GPU-a": 1}
    assert indices(Column(POWER, ("GPU-b", "0")), Column(POWER, ("GPU-c", "00"))) == {}


def test_a_slice_is_not_the_gpu_whose_number_it_carries() -> None:
    """A slice that stands as a GPU of its own has no number, and takes none away."""
    whole, part = Column(POWER, ("GPU-a", "0")), Column(POWER, ("MIG-x", "0"))
    assert indices(whole, part) == {"GPU-a": 0}


@pytest.mark.parametrize("said", ["", "-1", "x", "1.0", "²", "9" * 5000])
def test_what_is_no_number_is_unknown(said: str) -> None:
    """Labels are hosts' words, and data."""
    assert indices(Column(POWER, ("GPU-a", said))) == {}
