"""Micro-batch, explicit reduction and activation checkpointing."""

import pytest

from flyball_collector.adjustments.situation.run_situation import MemoryFault
from flyball_collector.diagnosis.kinds import Severity
from tests.collector.adjustments.rules.runs import (
    GIB,
    NOW,
    SECOND,
    adjustment,
    effect,
    event,
    find,
    ranks,
    situation,
    to_of,
    value,
)

FORECAST = event("memory_exhaustion", seconds_left=120.0)


def fault(ago: float = 60.0, **changes: object) -> MemoryFault:
    """Return an out-of-memory error of rank 1."""
    given = {"time_ns": NOW - int(ago * SECOND), "rank": 1, "where": "backward"} | changes
    return MemoryFault(**given)  # type: ignore[arg-type]  # the tests name its fields


def test_a_forecast_halves_the_micro_batch() -> None:
    """If a GPU of the run will be full, half the micro-batch is proposed, with the time that is left."""
    change = find("shrink_micro_batch", [value("micro_batch")], situation(FORECAST))
    assert change is not None
    assert change.to == 8
    assert "120 s" in change.because or "2 min" in change.because
    assert change.events == (FORECAST,)


@pytest.mark.parametrize(("gpus", "gpu", "to"), [(0, "", 8), (0, "GPU-0", None), (1, "", None)])
def test_the_memory_that_counts_is_the_one_of_the_activations(gpus: int, gpu: str, to: int | None) -> None:
    """A training on CPUs reacts to its host's memory, and one on GPUs only to that of its GPUs."""
    found = situation(event("memory_exhaustion", gpu=gpu), gpus=gpus)
    assert to_of(find("shrink_micro_batch", [value("micro_batch")], found)) == to


def test_a_forecast_is_answered_once() -> None:
    """A condition from before the last change does not shrink the micro-batch again."""
    shrunk = adjustment("micro_batch", 16, 8, ago=30, protects=True)
    old = event("memory_exhaustion", raised_ns=NOW - 60 * SECOND)
    assert find("shrink_micro_batch", [value("micro_batch", 8)], situation(old), [shrunk]) is None


@pytest.mark.parametrize(("severity", "changed_ago", "to"), [
    (Severity.CRITICAL, 10, 4), (Severity.WARNING, 10, None), (Severity.CRITICAL, 250, None),
])  # fmt: skip
def test_a_forecast_that_gets_worse_counts_again(severity: Severity, changed_ago: int, to: int | None) -> None:
    """One that became critical two minutes or more after the change is answered by a second change."""
    shrunk = adjustment("micro_batch", 16, 8, ago=300, protects=True)
    worse = event(
        "memory_exhaustion", raised_ns=NOW - 400 * SECOND, time_ns=NOW - changed_ago * SECOND, severity=severity
    )
    assert to_of(find("shrink_micro_batch", [value("micro_batch", 8)], situation(worse), [shrunk])) == to


def test_the_smallest_micro_batch_stays() -> None:
    """Without a smaller choice nothing is proposed."""
    assert find("shrink_micro_batch", [value("micro_batch", 1)], situation(FORECAST)) is None


def test_all_ranks_follow_the_one_that_ran_out_of_memory() -> None:
    """After one of three ranks has halved its slices, its size is proposed for all of them."""
    run = ranks([value("micro_batch")], [value("micro_batch", 8)], [value("micro_batch")])
    change = find("shrink_after_out_of_memory", run)
    assert change is not None
    assert change.to == 8
    assert "rank 1 of 3" in change.because


def test_an_error_that_no_rank_has_reacted_to_halves_the_micro_batch() -> None:
    """A rank that ran out of memory elsewhere leaves the change to all ranks together, once."""
    found = situation(faults=(fault(),))
    assert to_of(find("shrink_after_out_of_memory", [value("micro_batch")], found)) == 8
    handled = [adjustment("micro_batch", 16, 8, ago=30, protects=True)]
    assert find("shrink_after_out_of_memory", [value("micro_batch", 8)], found, handled) is None
    assert find("shrink_after_out_of_memory", [value("micro_batch")], situation(faults=(fault(700),))) is None


def test_equal_ranks_that_have_shrunk_themselves_need_nothing() -> None:
    """If every rank has already changed to the same size, no change is proposed."""
    found = situation(faults=(fault(name="micro_batch", value_from=16, value_to=8, recovered=True),))
    assert find("shrink_after_out_of_memory", [value("micro_batch", 8)], found) is None


SMALL = event("bottleneck_small_batch")


def test_an_idle_gpu_gets_a_larger_micro_batch() -> None:
    """Kernels that are too small lead to twice the micro-batch, with the gain of filling the gaps."""
    change = find("grow_micro_batch", [value("micro_batch")], situation(SMALL, gpu_busy_share=0.5))
    assert change is not None
    assert change.to == 32
    assert change.gain is not None
    assert change.gain[1] == pytest.approx(1 / (1 - 0.45))


def test_a_micro_batch_grows_only_without_memory_problems() -> None:
    """A forecast, an error within an hour or one at that size, or a young run prevents growth."""
    micro = [value("micro_batch")]
    assert find("grow_micro_batch", micro, situation(SMALL, FORECAST)) is None
    assert find("grow_micro_batch", micro, situation(SMALL, faults=(fault(600),))) is None
    at_32 = fault(7200, name="micro_batch", value_from=32, value_to=16)
    at_64 = fault(7200, name="micro_batch", value_from=64, value_to=32)
    assert find("grow_micro_batch", micro, situation(SMALL, faults=(at_32,))) is None
    assert to_of(find("grow_micro_batch", micro, situation(SMALL, faults=(at_64,)))) == 32
    assert find("grow_micro_batch", micro, situation()) is None
    assert find("grow_micro_batch", micro, situation(SMALL, hours=0.1)) is None


def test_near_the_memory_limit_ranks_reduce_explicitly() -> None:
    """From 90 % of a GPU on, or after an error, several ranks reduce explicitly; a lone rank has no need to."""
    reduction, near = [value("explicit_reduction")], situation(peak_bytes=72.5 * GIB)
    assert to_of(find("reduce_explicitly", ranks(reduction, reduction), near)) is True
    assert to_of(find("reduce_explicitly", ranks(reduction, reduction), situation(faults=(fault(),)))) is True
    assert find("reduce_explicitly", ranks(reduction, reduction), situation(peak_bytes=71 * GIB)) is None
    assert find("reduce_explicitly", ranks(reduction), near) is None
    for unknown in (situation(peak_bytes=None), situation(memory_total_bytes=None)):
        assert find("reduce_explicitly", ranks(reduction, reduction), unknown) is None


def test_if_a_smaller_micro_batch_does_not_end_a_forecast_ranks_reduce_explicitly() -> None:
    """The smaller size comes first, because it may prevent what the explicit reduction only survives."""
    values = [value("micro_batch", 8), value("explicit_reduction")]
    old = situation(event("memory_exhaustion", raised_ns=NOW - 60 * SECOND))
    assert find("reduce_explicitly", ranks(values, values), old) is None
    shrunk = adjustment("micro_batch", 16, 8, ago=30, protects=True)
    assert to_of(find("reduce_explicitly", ranks(values, values), old, [shrunk])) is True
    alone = [value("explicit_reduction")]
    assert find("reduce_explicitly", ranks(alone, alone), old) is None


@pytest.mark.parametrize(("share", "to"), [(0.74, False), (0.8, None), (0.9, None)])
def test_far_from_the_limit_the_reduction_overlaps_again(share: float, to: bool | None) -> None:
    """Between 75 and 90 % nothing changes, so that the reduction does not alternate."""
    reduction = [value("explicit_reduction", True)]
    found = situation(peak_bytes=share * 80 * GIB)
    assert to_of(find("reduce_overlapped", ranks(reduction, reduction), found)) == to
    assert find("reduce_explicitly", ranks(reduction, reduction), found) is None


def test_activations_are_recomputed_when_nothing_smaller_helps() -> None:
    """Checkpointing is proposed only at the smallest micro-batch, or if even that is predicted not to fit."""
    switch = value("activation_checkpointing")
    found = situation(FORECAST)
    assert find("checkpoint_activations", [value("micro_batch"), switch], found) is None
    assert to_of(find("checkpoint_activations", [value("micro_batch", 1), switch], found)) is True
    assert to_of(find("checkpoint_activations", [switch], found)) is True
    blocked = value("micro_batch", blocked="batch_norm")
    assert to_of(find("checkpoint_activations", [blocked, switch], found)) is True
    fixed = value("micro_batch", facts={"per_rank": "64", "fixed_bytes": str(78 * GIB)})
    full = situation(FORECAST, peak_bytes=79 * GIB)
    assert to_of(find("checkpoint_activations", [fixed, switch], full)) is True


def test_activations_are_stored_again_only_if_all_of_them_fit() -> None:
    """Their size is the one measured before checkpointing, or else a cautious multiple of the present one."""
    switch = [value("activation_checkpointing", True)]
    busy = event("bottleneck_gpu_compute")
    assert to_of(find("store_activations", switch, situation(busy, peak_bytes=3 * GIB))) is False
    assert find("store_activations", switch, situation(busy, peak_bytes=10 * GIB)) is None
    peaks = (int(50 * GIB), int(50 * GIB))
    enabled = adjustment("activation_checkpointing", False, True, ago=7200, effect=effect(0.8, peaks))
    assert to_of(find("store_activations", switch, situation(busy, peak_bytes=50 * GIB), [enabled])) is False
    assert find("store_activations", switch, situation(peak_bytes=3 * GIB)) is None
