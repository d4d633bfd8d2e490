"""Hugging Face's Trainer is adjusted while it trains, with the real package: the losses stay the same."""

import importlib.util
from typing import Any

import pytest

from tests.outside.frameworks.case_process import Reported, run_cases
from tests.outside.frameworks.recorder import Line, steps_of
from tests.processes import free_port

pytestmark = pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers is missing")

FP32 = 1e-6
"""The largest relative difference of losses and norms of gradients in float32."""


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """The cases of adjusting_cases.py."""
    return run_cases("adjusting_cases.py", tmp_path_factory.mktemp("adjusted"), str(free_port()), HF_HUB_OFFLINE="1")


def of_kind(lines: list[Line], kind: str) -> list[Line]:
    """Return the lines of a kind."""
    return [line for line in lines if line["kind"] == kind]


def test_without_a_change_the_model_gets_whole_batches(reported: Reported) -> None:
    """Losses have the same bits as without Flyball, the model sees eight samples each time, and nothing is declared."""
    assert reported.seen["untouched"] == [True, [8]]
    assert of_kind(reported.lines("untouched"), "able") == []


def test_looking_at_the_loss_changes_nothing(reported: Reported) -> None:
    """One sample is computed twice before the first batch; with dropout, each loss has the bits of the undisturbed."""
    assert reported.seen["looked_at"] == [True, [1, 1, 8]]


def test_slices_leave_losses_and_gradients_as_they_are(reported: Reported) -> None:
    """Two steps of whole batches, two in slices of two, two in slices of four; first, one sample is looked at twice."""
    seen = reported.seen["sliced"]
    assert seen["sizes"] == [1, 1] + 4 * [8] + 16 * [2] + 8 * [4]
    assert seen["difference"] <= FP32


def test_an_agent_offers_and_commits(reported: Reported) -> None:
    """Prepared after the second step, applied after the fourth: from then on slices of two, and the same losses."""
    seen = reported.seen["over_the_socket"]
    assert seen["answers"] == [["prepared", 2, None], ["applied", 4, 2]]
    assert seen["sizes"] == 2 * [8] + [1, 1] + 6 * [8] + 16 * [2]
    assert seen["difference"] <= FP32


def test_the_reported_loss_is_that_of_the_whole_step(reported: Reported) -> None:
    """The last loss that is reported is what Trainer logs, although it was computed in slices."""
    assert steps_of(reported.lines("sliced"))[-1]["loss"] == pytest.approx(
        reported.seen["sliced"]["last_loss"], rel=FP32
    )


def test_the_values_are_gone_after_the_training(reported: Reported) -> None:
    """A run without its training has no values of the trainer, which could change nothing any more."""
    assert reported.seen["sliced"]["left"] == []


@pytest.mark.parametrize("case", ["forward first", "forward second", "backward first", "backward second"])
def test_a_step_that_runs_out_of_memory_is_repeated_whole(reported: Reported, case: str) -> None:
    """In forward or backward, in the first or second batch of a step: it takes two smaller sizes, and losses stay."""
    difference, failures, last_step, are_released = reported.seen["out_of_memory"][case]
    assert (failures, last_step) == (2, 6)
    assert are_released  # tensors of the failed pass, before the step is repeated
    assert difference <= FP32
    (event,) = of_kind(reported.lines(f"oom-{case.replace(' ', '-')}"), "oom")
    assert event | {"retry_seconds": 0} == {
        "kind": "oom",
        "step": 3,
        "where": case.split(maxsplit=1)[0],
        "name": "micro_batch",
        "from": 8,
        "to": 2,
        "recovered": True,
        "retry_seconds": 0,
    }
    assert sum(line.get("oom_retries", 0) for line in steps_of(reported.lines(f"oom-{case.replace(' ', '-')}"))) == 1


def test_the_loss_of_a_repeated_step_is_reported_once(reported: Reported) -> None:
    """The failed pass does not count: the loss is what Trainer logs."""
    loss = steps_of(reported.lines("oom-end"))[-1]["loss"]
    assert loss == pytest.approx(reported.seen["out_of_memory_at_the_end"], rel=FP32)


@pytest.mark.parametrize(
    ("case", "samples", "why"),
    [
        ("smallest", 1, "its slices are as small as possible"),
        ("mean", 8, "the batch cannot be sliced (mean_of_means)"),
    ],
)
def test_a_step_that_cannot_be_repeated_raises_as_ever(reported: Reported, case: str, samples: int, why: str) -> None:
    """The error of the allocator arrives with a note."""
    note = f"flyball: out of memory in forward with {samples} samples. Not repeated: {why}."
    assert reported.seen["not_recovered"][case] == ["CUDA out of memory", note]


def test_nothing_is_repeated_where_the_policy_is_off(reported: Reported) -> None:
    """The error of the allocator arrives as it was raised."""
    assert reported.seen["not_recovered"]["off"] == ["CUDA out of memory"]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("good", ""),
        ("own loss on one rank", ""),
        ("ignores the number", "mean_of_means"),
        ("takes no number", "mean_of_means"),
        ("batch norm", "batch_norm"),
        ("no labels", "unverified"),
        ("patches", "not_sliceable"),
    ],
)
def test_what_would_change_the_result_is_blocked(reported: Reported, case: str, reason: str) -> None:
    """A model whose loss is a mean is found although it accepts the number of items."""
    assert reported.seen["reasons"][case] == reason


def test_activation_checkpointing_leaves_the_losses_as_they_are(reported: Reported) -> None:
    """On for the third and fourth step alone."""
    seen = reported.seen["checkpointing"]
    assert seen["active"] == [False, False, True, True, False, False]
    assert seen["difference"] <= FP32


def test_checkpoints_follow_another_interval_and_a_single_order(reported: Reported) -> None:
    """Every third step in place of every fifth, and one after the fourth step because it was asked for."""
    folders, (cost,) = reported.seen["checkpoints"]
    assert folders == ["checkpoint-3", "checkpoint-4", "checkpoint-6"]
    assert 0 < float(cost) < 60  # of the first one, for the best interval


def test_workers_come_with_the_next_epoch_and_samples_keep_their_order(reported: Reported) -> None:
    """Decided in the first of two steps of an epoch, in use from the second epoch on; each loss has the same bits."""
    assert reported.seen["workers"] == {"equal": True, "workers": [0, 0, 1, 1, 1, 1]}


def test_two_ranks_make_the_same_changes(reported: Reported) -> None:
    """Whole batches, slices of two, and whole ones again: both ranks have the losses of the undisturbed training."""
    for rank in reported.seen["two_ranks"]:
        assert rank["ranks_sliced"]["sizes"] == [1, 1] + 4 * [8] + 16 * [2] + 4 * [8]
        _compare(rank["ranks_sliced"]["figures"], rank["ranks_undisturbed"][1])


def test_two_ranks_switch_activation_checkpointing(reported: Reported) -> None:
    """Trainer lets DistributedDataParallel look for unused parameters; the losses stay the same nevertheless."""
    for rank in reported.seen["two_ranks"]:
        _compare(rank["ranks_checkpointing"], rank["ranks_undisturbed"][1])


def test_one_rank_of_two_survives_without_memory(reported: Reported) -> None:
    """The second rank alone repeats its third step in smaller slices; losses and gradients of both ranks stay."""
    first, second = reported.seen["two_ranks"]
    assert (first["ranks_out_of_memory"]["failures"], second["ranks_out_of_memory"]["failures"]) == (0, 1)
    for rank in (first, second):
        _compare(rank["ranks_out_of_memory"]["figures"], rank["ranks_undisturbed"][0])


def _compare(ours: list[Any], theirs: list[Any]) -> None:
    assert len(ours) == len(theirs) == 6
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(other, rel=FP32)
