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


def test_gpus_have_the_numbers_of_their_labels() -> None:
    """The order and number of columns do not matter; a slice's column has the number of its whole GPU."""
    columns = (
        Column(POWER, ("GPU-b", "1")), Column(POWER, ("GPU-a", "0")), Column(THROTTLE, ("GPU-b", "1", "heat")),
        Column(SLICE, ("GPU-a", "0", "MIG-x")), Column(HEAT, ("GPU-c",)), Column(LANE, ("7",)),
    )  # fmt: skip
    assert indices(*columns) == {"GPU-a": 0, "GPU-b": 1}
    assert indices(Column(HEAT, ("GPU-c",))) == {}


def test_a_number_shared_by_two_gpus_is_not_used() -> None:
    """GPUs of two vendors both count from zero, so the number is ambiguous."""
    own, shared = Column(POWER, ("GPU-a", "1")), (Column(POWER, ("GPU-b", "0")), Column(POWER, ("INTEL-c", "0")))
    assert indices(own, *shared) == {"GPU-a": 1}
    assert indices(Column(POWER, ("GPU-b", "0")), Column(POWER, ("GPU-c", "00"))) == {}


def test_a_slice_is_not_its_gpu() -> None:
    """A slice that is listed like a GPU has no number, and does not make the number ambiguous."""
    whole, part = Column(POWER, ("GPU-a", "0")), Column(POWER, ("MIG-x", "0"))
    assert indices(whole, part) == {"GPU-a": 0}


@pytest.mark.parametrize("text", ["", "-1", "x", "1.0", "²", "9" * 5000])
def test_an_invalid_number_is_unknown(text: str) -> None:
    """Labels are texts of the host."""
    assert indices(Column(POWER, ("GPU-a", text))) == {}
