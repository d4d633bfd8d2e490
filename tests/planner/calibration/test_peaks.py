"""Tests of what measured peaks of memory teach."""

import pytest
from msgspec.structs import replace

from flyball_planner.calibration.peaks import observe, peak_factor, peak_interval
from flyball_planner.memory.calibrate import calibrate
from flyball_planner.memory.constants import CONSTANTS
from flyball_planner.training import Lora, Method
from tests.planner.calibration.runs import gpt, larger


def test_a_tenth_more_is_learned_with_caution() -> None:
    """Five runs move the estimate nearly all the way, and the factor's interval holds what was learned."""
    runs = [larger(gpt(512, micro_batch), 1.1) for micro_batch in (1, 2, 4, 8, 16)]
    constants = calibrate([observe(run) for run in runs])
    factor = peak_factor(runs, constants)
    assert 1.08 < factor.middle < 1.1
    assert factor.low < factor.middle < factor.high
    assert peak_interval(runs[0], constants).width < peak_interval(runs[0]).width


def test_only_runs_over_four_bit_weights_are_told_as_such() -> None:
    """What their layers keep is asked of nothing else."""
    run = larger(gpt(), 1.0)
    assert not observe(run).quantised
    assert observe(replace(run, training=replace(run.training, method=Method.QLORA, lora=Lora()))).quantised


def test_each_reading_is_compared_with_its_own_estimate() -> None:
    """What tensors take is less than what is reserved, and that less than what the driver shows."""
    run = gpt()
    columns = ("allocated_bytes", "reserved_bytes", "driver_bytes")
    shown = [peak_interval(replace(run, **{column: 1e9})).middle for column in columns]
    assert shown == sorted(shown)
    assert len(set(shown)) == 3


def test_the_reading_nearest_to_tensors_is_used() -> None:
    """Where several were taken."""
    run = replace(gpt(), driver_bytes=3e9, allocated_bytes=1e9)
    assert run.memory_column == "allocated_bytes"
    assert run.memory_bytes == 1e9
    assert peak_interval(run, CONSTANTS).middle == pytest.approx(peak_interval(replace(run, driver_bytes=None)).middle)
