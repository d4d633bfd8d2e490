"""The dry run of a change."""

import pytest

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.adjustments.declared.ranks import RankValue
from flyball_collector.adjustments.rules.dry_run import DryRun, dry_run
from flyball_collector.adjustments.situation.run_situation import RunSituation
from flyball_collector.advice.situation import Situation
from tests.collector.adjustments.rules.runs import GIB, case, host, ranks, situation, value


def judge(
    declared: RankValue, to: Value, found: RunSituation | None = None, others: tuple[RankValue, ...] = ()
) -> DryRun:
    """Return the dry run of a change of the first value."""
    of = case(ranks([declared, *others]), found)
    return dry_run(of, of.values[0], to)


@pytest.mark.parametrize(("changes", "to", "words"), [
    ({}, 8, ""),
    ({"choices": (5, 16)}, 5, "5 does not divide the 64 samples of a rank"),
    ({"facts": {"normalised": "tokens"}}, 8, "global batch"),
    ({"facts": {"per_rank": "64", "normalised": "mean"}}, 8, "mean of means"),
    ({"blocked": "batch_norm"}, 8, "batch_norm"),
    ({}, 7, "not a choice"),
])  # fmt: skip
def test_a_micro_batch_keeps_the_global_batch(changes: dict[str, object], to: int, words: str) -> None:
    """It must divide the samples of each rank, and the loss must not depend on the slices."""
    refusal = judge(value("micro_batch", **changes), to).refusal
    assert words in refusal
    assert bool(refusal) is bool(words)


def test_ranks_with_different_batches_keep_them() -> None:
    """If the ranks do not have the same number of samples, no micro-batch is equal for all."""
    one, other = value("micro_batch"), value("micro_batch", facts={"per_rank": "32", "normalised": "tokens"})
    of = case(ranks([one], [other]))
    assert "different batches" in dry_run(of, of.values[0], 8).refusal


@pytest.mark.parametrize(("peak", "total", "words"), [
    (30.0, 80.0, ""), (40.0, 80.0, "may need"), (None, 80.0, "not known"), (30.0, None, "not known"),
])  # fmt: skip
def test_a_larger_micro_batch_must_fit(peak: float | None, total: float | None, words: str) -> None:
    """By the upper end of the prediction, 10 % of the GPU stay free; unknown memory allows nothing."""
    found = situation(
        peak_bytes=None if peak is None else peak * GIB, memory_total_bytes=None if total is None else total * GIB
    )
    refusal = judge(value("micro_batch"), 32, found).refusal
    assert words in refusal
    assert bool(refusal) is bool(words)


def test_a_smaller_micro_batch_always_fits() -> None:
    """Unknown memory does not prevent a change that needs less of it."""
    assert judge(value("micro_batch"), 8, situation(peak_bytes=None)).refusal == ""


def test_the_predicted_figures_are_intervals() -> None:
    """Memory lies between its bounds, time follows from the expected gain, and unknown figures are left out."""
    of = case(ranks([value("micro_batch")]))
    predicted = dry_run(of, of.values[0], 8, gain=(0.9, 1.0)).predicted
    assert predicted["peak_bytes_low"] <= predicted["peak_bytes"] <= predicted["peak_bytes_high"]
    assert predicted["memory_ratio"] <= 1.0
    assert [predicted["step_seconds_low"], predicted["step_seconds_high"]] == pytest.approx([0.5, 0.5 / 0.9])
    unknown = case(ranks([value("micro_batch")], step_seconds=None), situation(peak_bytes=None, step_seconds=None))
    assert dry_run(unknown, unknown.values[0], 8, gain=(0.9, 1.0)).predicted == {}


def test_checkpointing_saves_at_most_the_activations() -> None:
    """The fixed part of the memory remains."""
    micro = value("micro_batch", facts={"per_rank": "64", "fixed_bytes": str(20 * GIB)})
    switch = value("activation_checkpointing")
    predicted = judge(switch, True, others=(micro,)).predicted
    assert predicted["peak_bytes_low"] == 22 * GIB
    assert predicted["peak_bytes_high"] == 40 * GIB


def test_only_the_end_of_checkpointing_needs_memory() -> None:
    """To recompute activations is always possible; to store them again needs a known peak that fits."""
    unknown = situation(peak_bytes=None)
    off, on = value("activation_checkpointing"), value("activation_checkpointing", True)
    assert judge(off, True, unknown) == DryRun()
    assert "not known" in judge(on, False, unknown).refusal
    of = case(ranks([on]))
    fits, full = ({"peak_bytes_high": size * GIB} for size in (70, 75))
    assert dry_run(of, of.values[0], False, known=fits) == DryRun(fits)
    assert "must stay free" in dry_run(of, of.values[0], False, known=full).refusal


@pytest.mark.parametrize(("facts", "words"), [
    (host(), ""),
    (host(cores=3.0), "4 workers on 3 cores"),
    (host(cores=None), "unknown number of cores"),
    (host(memory_available_bytes=190 * GIB), "too little memory"),
    (host(memory_available_bytes=None), "not known how much"),
    (host(memory_available_bytes=204 * GIB, worker_memory_bytes=3 * GIB), "too little memory"),
])  # fmt: skip
def test_more_workers_need_cores_and_memory(facts: Situation, words: str) -> None:
    """A worker a core at most, and a fifth of the host's memory stays available; unknown allows nothing."""
    refusal = judge(value("loader_workers"), 4, situation(hosts=(facts,))).refusal
    assert words in refusal
    assert bool(refusal) is bool(words)
    assert judge(value("loader_workers"), 1, situation(hosts=(facts,))).refusal == ""


def test_a_disabled_lever_is_not_used() -> None:
    """The operator's list comes before everything else."""
    of = case(ranks([value("throttle")]))
    assert "disabled" in dry_run(of, of.values[0], 0.1, disabled=("throttle",)).refusal
    assert dry_run(of, of.values[0], 0.1, disabled=("pause",)).refusal == ""
