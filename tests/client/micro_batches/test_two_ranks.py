"""Two gloo ranks under DistributedDataParallel: a rank that runs out of memory trains on as if nothing had happened."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client.micro_batches.tiny_training import difference

pytest.importorskip("torch", reason="torch is not installed (requirements-training.txt)")

Answers = list[dict[str, dict[str, Any]]]
LIMITS = {"fp64": 1e-12, "fp32": 1e-6, "bf16": 1e-3}
_ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module", name="ranks")
def _ranks(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Return the answers of both ranks to all cases."""
    folder = tmp_path_factory.mktemp("ranks")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FLYBALL_", "SLURM_"))}
    environment = kept | {"FLYBALL_SOCKET": str(folder / "none.sock"), "OMP_NUM_THREADS": "1"}
    module = "tests.client.micro_batches.ranks"
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", module, str(folder), str(rank)],
            cwd=_ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        outputs = [process.communicate(timeout=300)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], "\n".join(outputs)[-6000:]
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("dtype", LIMITS)
def test_losses_are_those_of_the_undisturbed_training(ranks: Answers, dtype: str) -> None:
    """With failures in forward or backward, in the first or last slice, on one rank or on both."""
    names = [name for name in ranks[0] if name.startswith(f"{dtype} ")]
    assert len(names) == 10
    for answers in ranks:
        whole = answers[f"{dtype} whole"]["losses"]
        for name in names:
            assert difference(answers[name]["losses"], whole) <= LIMITS[dtype], name


def test_weights_are_equal_on_both_ranks_after_a_failure(ranks: Answers) -> None:
    """Each case that ended without an error."""
    ended = [name for name, answer in ranks[0].items() if "losses" in answer]
    assert len(ended) > 30
    for name in ended:
        assert ranks[0][name]["weights"] == ranks[1][name]["weights"], name


def test_a_failure_is_reported_by_its_rank_alone(ranks: Answers) -> None:
    """With the part of the step and both sizes; the other rank keeps its size."""
    first, second = (answers["fp64 trial backward -1 0"] for answers in ranks)
    assert (first["events"], first["micro"], second["micro"]) == ([], 4, 2)
    (event,) = second["events"]
    assert event.pop("retry_seconds") > 0
    assert event == {
        "step": 1, "where": "backward", "name": "micro_batch", "from_": 4, "to": 2, "recovered": True,
    }  # fmt: skip


def test_the_trial_ends_on_both_ranks_after_three_steps_without_a_failure(ranks: Answers) -> None:
    """A failure on one rank begins the count again on both."""
    for answers in ranks:
        assert answers["fp64 slices"]["explicit"] == [True, True, False, False, False, False, False]
        assert answers["fp64 trial forward 0 0"]["explicit"] == [True, True, True, False, False, False, False]
        assert answers["fp64 trial forward 0 2"]["explicit"] == [True] * 5 + [False] * 2


def test_a_loss_may_fail_behind_the_forward_pass(ranks: Answers) -> None:
    """Of the first slice. Behind that of the last, the next backward pass would exchange gradients."""
    assert difference(ranks[1]["overlapped loss 0"]["losses"], ranks[1]["fp64 whole"]["losses"]) <= 1e-12
    for answers in ranks:
        assert "Not repeated: the ranks were exchanging gradients." in answers["overlapped loss -1"]["error"][1]


@pytest.mark.parametrize("case", ["forward 0", "backward 0", "forward -1"])
def test_before_the_exchange_of_gradients_a_rank_repeats_its_batch_alone(ranks: Answers, case: str) -> None:
    """Its peer waits for it in the same exchange. Buffers are not exchanged again."""
    whole = ranks[1]["fp64 whole"]["losses"]
    for name in (f"overlapped {case}", f"overlapped with a buffer {case}"):
        assert difference(ranks[1][name]["losses"], whole) <= 1e-12
        assert [event["step"] for event in ranks[1][name]["events"]] == [6]


def test_during_the_exchange_of_gradients_the_error_is_raised_and_the_size_kept(ranks: Answers) -> None:
    """The next start begins with smaller slices."""
    for answers in ranks:
        kind, note = answers["overlapped backward -1"]["error"]
        assert kind == "OutOfMemoryError"
        assert note == (
            "flyball: out of memory in backward with slices of 4 samples. Not repeated: the ranks were exchanging "
            "gradients. The next start begins with 2 and reduces gradients explicitly."
        )
        (event,) = answers["overlapped backward -1"]["events"]
        assert (event["recovered"], event["from_"], event["to"]) == (False, 4, 2)


def test_with_explicit_reduction_that_failure_is_repaired_too(ranks: Answers) -> None:
    """It stays as long as the value is true."""
    assert difference(ranks[1]["explicit backward -1"]["losses"], ranks[1]["fp64 whole"]["losses"]) <= 1e-12
    assert ranks[1]["explicit backward -1"]["explicit"][4:] == [True, True, True]
    assert len(ranks[1]["explicit backward -1"]["events"]) == 1


def test_after_such_an_end_the_next_start_can_repair_it(ranks: Answers) -> None:
    """It begins with smaller slices, and gradients are reduced explicitly for as long as it runs."""
    assert [answers["restarted"]["explicit"] for answers in ranks] == [[True] * 7] * 2
    assert [len(answers["restarted"]["events"]) for answers in ranks] == [0, 1]
    assert ranks[1]["restarted"]["events"][0]["from_"] == 2
    assert difference(ranks[1]["restarted"]["losses"], ranks[1]["fp64 whole"]["losses"]) <= 1e-12


def test_after_a_change_of_the_size_there_is_a_trial_again(ranks: Answers) -> None:
    """All ranks make the change at one step, and the new size may not fit. What is explicit anyway stays so."""
    for answers in ranks:
        assert answers["resized"]["explicit"][2:] == [False, False, True, True, True]
        assert answers["explicit resized"]["explicit"][4:] == [True, True, True]
    (event,) = ranks[1]["resized"]["events"]
    assert (event["from_"], event["to"], event["where"]) == (2, 1, "backward")
    assert difference(ranks[1]["resized"]["losses"], ranks[1]["fp64 whole"]["losses"]) <= 1e-12


def test_gradients_that_are_views_of_buckets_stay_right(ranks: Answers) -> None:
    """In the trial and afterwards."""
    assert difference(ranks[1]["views"]["losses"], ranks[1]["fp64 whole"]["losses"]) <= 1e-12
    assert len(ranks[1]["views"]["events"]) == 2


def test_parameters_that_nobody_uses_stay_without_gradients(ranks: Answers) -> None:
    """AdamW would otherwise change them."""
    assert difference(ranks[1]["unused"]["losses"], ranks[1]["unused whole"]["losses"]) <= 1e-12
    assert len(ranks[1]["unused"]["events"]) == 2
    assert ranks[1]["unused"]["weights"] == pytest.approx(ranks[1]["unused whole"]["weights"], rel=1e-9)


def test_gradients_that_a_hook_compresses_are_never_reduced_explicitly(ranks: Answers) -> None:
    """The result is that of the hook, also after a failure that can be repaired."""
    assert difference(ranks[1]["hook"]["losses"], ranks[1]["hook whole"]["losses"]) <= 1e-6
    assert ranks[1]["hook"]["explicit"] == [False] * 7
    assert len(ranks[1]["hook"]["events"]) == 1


@pytest.mark.parametrize(
    ("case", "blocked", "reason"),
    [
        ("static", "ddp_options", "DistributedDataParallel with static_graph"),
        ("norm", "batch_norm", "BatchNorm computes with the statistics of a slice, so smaller ones give other results"),
        ("sharded", "fsdp", "the parameters are spread over ranks, so other ranks compute with this one"),
        ("unknown", "unknown_model", "it is not known whether other ranks compute with this one"),
        ("smallest", "", "its slices are as small as possible"),
    ],
)
def test_what_cannot_be_repaired_is_raised_with_the_reason(
    ranks: Answers, case: str, blocked: str, reason: str
) -> None:
    """The error is that of the allocator, and the value has the reason for which it cannot change."""
    for answers in ranks:
        kind, note = answers[case]["error"]
        assert kind == "OutOfMemoryError"
        assert f"Not repeated: {reason}." in note
        assert answers[case]["blocked"] == blocked


def test_a_size_that_is_still_too_large_is_halved_again(ranks: Answers) -> None:
    """From 8 to 4 to 2 samples; one report has the first and the last."""
    assert difference(ranks[1]["one by one"]["losses"], ranks[1]["fp64 whole"]["losses"]) <= 1e-12
    (event,) = ranks[1]["one by one"]["events"]
    assert (event["from_"], event["to"]) == (8, 2)


def test_all_ranks_begin_as_one_remembers(ranks: Answers) -> None:
    """With the smallest size, because ranks would wait for each other, and with one way to reduce gradients."""
    assert [answers["remembered"]["micro"] for answers in ranks] == [2, 2]
    assert [answers["remembered"]["explicit"] for answers in ranks] == [[True] * 7] * 2
    assert difference(ranks[0]["remembered"]["losses"], ranks[0]["fp64 whole"]["losses"]) <= 1e-12


def test_forms_in_which_ranks_would_exchange_other_messages_are_recognised(ranks: Answers) -> None:
    """Those that are compiled with their exchanges are not repeated; compressed or sparse gradients are not reduced."""
    compiled = ["ddp", "torch.compile around it", False]
    assert ranks[0]["inspected"] == {
        "usual": ["ddp", "", True],
        "compiled outside": compiled,
        "compiled in place": compiled,
        "builtin hook": ["ddp", "", False],
        "sparse": ["ddp", "", False],
    }


@pytest.mark.parametrize("bucket_bytes", ["1", "40", str(1 << 20)])
def test_explicit_reduction_averages_every_gradient(ranks: Answers, bucket_bytes: str) -> None:
    """Of each type and in each bucket; one that only a rank has counts half, and one that none has stays away."""
    for answers in ranks:
        found = answers["reduced"][bucket_bytes]
        ramp = [[0.0, 3.0, 6.0], [1.5, 4.5, 7.5]]
        assert found["gradients"] == [[[5.0] * 4] * 3, [6.0] * 5, ramp, [4.0, 4.0], None]
        assert (found["flag"], found["clean"]) == (True, False)
