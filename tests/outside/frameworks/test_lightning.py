"""Lightning reports through `flyball.lightning.Callback`, with the real package."""

import importlib.util

import pytest

from tests.outside.frameworks.case_process import Reported, run_cases
from tests.outside.frameworks.lightning_figures import EVALUATION_SECONDS, FORWARD_SECONDS, SAMPLE_SECONDS
from tests.outside.frameworks.recorder import sections, steps_of, total

pytestmark = pytest.mark.skipif(importlib.util.find_spec("lightning") is None, reason="lightning is not installed")

BATCHES = 8
BATCH = 4


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """The cases of lightning_cases.py."""
    return run_cases("lightning_cases.py", tmp_path_factory.mktemp("lightning"))


def test_a_step_is_a_step_of_the_optimizer(reported: Reported) -> None:
    """Eight batches make four steps; the hello has labels, and the total steps that Lightning computes."""
    lines = reported.lines("parts")
    assert (lines[0]["total_steps"], lines[0]["labels"]) == (4, {"team": "vision"})
    assert total(lines, "steps") == steps_of(lines)[-1]["step"] == 4
    assert total(lines, "samples") == BATCHES * BATCH
    assert lines[-1] == {"kind": "goodbye"}


def test_the_loss_is_the_whole_one_of_the_last_batch(reported: Reported) -> None:
    """Lightning divides the loss by the two batches of a step; the run reports it as the model returned it."""
    loss = steps_of(reported.lines("parts"))[-1]["loss"]
    assert loss == pytest.approx(reported.seen["parts_of_a_step"]["last_loss"], rel=1e-6)


def test_waiting_for_input_is_measured_where_the_loader_is_slow(reported: Reported) -> None:
    """Reading the samples is waiting, and the forward pass is none of it."""
    lines = reported.lines("parts")
    waited, taken = total(lines, "data_wait_seconds"), total(lines, "step_seconds")
    assert waited is not None
    assert taken is not None
    assert waited >= BATCHES * BATCH * SAMPLE_SECONDS
    parts = sections(lines)
    assert waited + sum(parts[name] for name in ("forward", "backward", "optimizer")) < taken


def test_sections_are_forward_backward_optimizer_evaluation_and_checkpoint(reported: Reported) -> None:
    """Each slow part is in its own section; the evaluation after the last batch counts, a sanity check does not."""
    parts = sections(reported.lines("parts"))
    assert parts["forward"] >= BATCHES * FORWARD_SECONDS
    assert 2 * EVALUATION_SECONDS <= parts["evaluation"] < 3 * EVALUATION_SECONDS + BATCHES * FORWARD_SECONDS
    assert reported.seen["parts_of_a_step"]["checkpoints"] == 2
    assert parts["checkpoint"] > 0
    assert {"backward", "optimizer"} < set(parts)


def test_the_trainer_is_as_before_after_the_training(reported: Reported) -> None:
    """No function of the trainer or its loops stays replaced."""
    assert reported.seen["parts_of_a_step"]["replaced"] == []


def test_ranks_that_only_lightning_knows_are_reported(reported: Reported) -> None:
    """Two processes that Lightning forks report as ranks 0 and 1 of 2, each with its own steps."""
    connections = reported.connections("ranks")
    assert sorted((lines[0]["rank"], lines[0]["world_size"]) for lines in connections) == [(0, 2), (1, 2)]
    assert [total(lines, "steps") for lines in connections] == [3, 3]
    assert reported.seen["two_ranks"] is True  # the process that started them opened no run


def test_a_resumed_training_continues_its_numbers(reported: Reported) -> None:
    """A training that is resumed at step 3 of 5 reports the steps 4 and 5."""
    lines = reported.lines("resumed")
    assert reported.seen["resumed"] == 5
    assert (steps_of(lines)[0]["step"], steps_of(lines)[-1]["step"], total(lines, "steps")) == (4, 5, 2)


def test_a_second_training_is_a_new_attempt(reported: Reported) -> None:
    """One callback in two trainings: each has all its steps, and the second is a new attempt."""
    first, second = reported.connections("twice")
    assert (total(first, "steps"), total(second, "steps")) == (3, 3)
    assert (first[0]["attempt"], second[0]["attempt"], reported.seen["fitted_twice"]) == (0, 1, 1)


def test_an_exception_ends_the_run_and_reaches_the_script(reported: Reported) -> None:
    """The exception of the third batch arrives unchanged; two steps are reported, and the run has left."""
    assert reported.seen["failed"] == ["a bad batch", True, False]
    lines = reported.lines("failed")
    assert total(lines, "steps") == 2
    assert lines[-1] == {"kind": "goodbye"}


def test_ctrl_c_ends_the_run(reported: Reported) -> None:
    """After KeyboardInterrupt in the third batch two steps are reported, and the run has left."""
    assert reported.seen["interrupted"] is True
    lines = reported.lines("interrupted")
    assert total(lines, "steps") == 2
    assert lines[-1] == {"kind": "goodbye"}


def test_a_batch_with_two_optimizers_is_one_step(reported: Reported) -> None:
    """With manual optimization, Lightning counts six optimizer steps in three batches; the run has three steps."""
    assert reported.seen["two_optimizers"] == 6
    lines = reported.lines("optimizers")
    assert total(lines, "steps") == steps_of(lines)[-1]["step"] == 3


def test_the_callback_can_be_sent_to_a_new_process(reported: Reported) -> None:
    """A pickled callback reports the training in which it is used."""
    assert reported.seen["sent_away"] is True
    assert total(reported.lines("sent"), "steps") == 2


def test_attach_adds_the_callback_to_a_trainer(reported: Reported) -> None:
    """`flyball.attach` puts it before the callback that writes checkpoints; the options reach the run."""
    assert reported.seen["attached"] == [2, True]
    lines = reported.lines("attached")
    assert lines[0]["total_steps"] == 77
    assert total(lines, "steps") == 2
    assert "evaluation" not in sections(lines)  # `validate` before the training does not belong to it


def test_the_package_under_its_old_name_works_too(reported: Reported) -> None:
    """With pytorch_lightning beside lightning, the callback is accepted by both; an earlier one keeps its class."""
    assert reported.seen["under_the_old_name"] == [True, True]
    assert total(reported.lines("old-name"), "steps") == 2


def test_slices_of_a_manual_optimization_change_nothing(reported: Reported) -> None:
    """Two whole batches, then slices of one: losses and weights are the same, and nothing stays behind."""
    seen = reported.seen["in_slices"]
    assert seen["sizes"] == 2 * [4] + 8 * [1]
    assert seen["difference"] <= 1e-6
    assert seen["weights"] <= 1e-6
    assert seen["left"] is False


def test_slices_of_two_ranks_change_nothing(reported: Reported) -> None:
    """With DistributedDataParallel, gradients are exchanged once for all slices: losses are those of whole batches."""
    whole, sliced = reported.seen["ranks_in_slices"]
    for (losses, sizes), (other_losses, other_sizes) in zip(whole, sliced, strict=True):
        assert sizes == len(losses) * [4]
        assert other_sizes == 2 * len(losses) * [2]
        assert other_losses == pytest.approx(losses, rel=1e-6)


def test_a_batch_without_a_size_is_refused_with_an_example(reported: Reported) -> None:
    """The error shows what to pass to the callback."""
    assert "flyball.lightning.Callback(run=" in reported.seen["without_a_size"]


def test_automatic_optimization_gets_workers_and_checkpoints(reported: Reported) -> None:
    """A worker from the second epoch on, and the checkpoint that was asked for after the third step."""
    seen = reported.seen["workers"]
    assert seen["workers"] == [0, 0, 1, 1, 1, 1]
    assert seen["step"] == 3
    assert "micro_batch" not in seen["values"]
