"""Tests of calibration with measured peaks of memory."""

import pytest
from msgspec.structs import replace

from flyball_planner.calibration.memory_peaks import observe, peak_factor, peak_interval
from flyball_planner.memory.calibration import calibrate
from flyball_planner.memory.constants import CONSTANTS
from flyball_planner.training import Lora, Method
from tests.planner.calibration.runs import gpt, larger


def test_five_runs_teach_most_of_a_common_factor() -> None:
    """Five runs with 10 % more memory raise the factor to nearly 1.1 and narrow the interval."""
    runs = [larger(gpt(512, micro_batch), 1.1) for micro_batch in (1, 2, 4, 8, 16)]
    constants = calibrate([observe(run) for run in runs])
    factor = peak_factor(runs, constants)
    assert 1.08 < factor.middle < 1.1
    assert factor.low < factor.middle < factor.high
    assert peak_interval(runs[0], constants).width < peak_interval(runs[0]).width


def test_only_qlora_runs_are_quantised() -> None:
    """Only a run with 4-bit weights is observed as quantised."""
    run = larger(gpt(), 1.0)
    assert not observe(run).quantised
    assert observe(replace(run, training=replace(run.training, method=Method.QLORA, lora=Lora()))).quantised


def test_each_reading_is_compared_with_its_own_estimate() -> None:
    """Allocated memory is less than reserved memory, which is less than the driver's figure."""
    run = gpt()
    columns = ("allocated_bytes", "reserved_bytes", "driver_bytes")
    estimates = [peak_interval(replace(run, **{column: 1e9})).middle for column in columns]
    assert estimates == sorted(estimates)
    assert len(set(estimates)) == 3


def test_allocated_memory_has_priority() -> None:
    """If a run has several memory columns, the one nearest to the tensors is used."""
    run = replace(gpt(), driver_bytes=3e9, allocated_bytes=1e9)
    assert run.memory_column == "allocated_bytes"
    assert run.memory_bytes == 1e9
    assert peak_interval(run, CONSTANTS).middle == pytest.approx(peak_interval(replace(run, driver_bytes=None)).middle)
