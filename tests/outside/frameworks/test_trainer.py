"""Hugging Face's Trainer reports through `flyball.attach`, with the real package."""

import importlib.util

import pytest

from tests.outside.frameworks.case_process import Reported, run_cases
from tests.outside.frameworks.recorder import sections, steps_of, total
from tests.outside.frameworks.trainer_figures import EVALUATION_SECONDS, SAMPLE_SECONDS

pytestmark = pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers is missing")


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """The cases of trainer_cases.py."""
    return run_cases("trainer_cases.py", tmp_path_factory.mktemp("trainer"), HF_HUB_OFFLINE="1")


def test_steps_samples_and_tokens_are_counted_over_accumulated_batches(reported: Reported) -> None:
    """Four steps of two batches with four samples of five tokens; labels and total steps are in the hello."""
    lines = reported.lines("parts")
    assert [line for line in lines if line["kind"] == "hello"][-1] | {"client": ""} == {
        "kind": "hello",
        "run": "parts",
        "rank": 0,
        "world_size": 1,
        "attempt": 0,
        "total_steps": 4,
        "policy": "ask",
        "labels": {"team": "nlp"},
        "client": "",
    }
    assert total(lines, "steps") == steps_of(lines)[-1]["step"] == 4
    assert total(lines, "samples") == 4 * 2 * 4
    assert total(lines, "tokens") == 4 * 2 * 4 * 5
    assert lines[-1] == {"kind": "goodbye"}


def test_waiting_for_input_is_measured_where_the_loader_is_slow(reported: Reported) -> None:
    """Reading 32 samples is counted as waiting, and not as a part of the step."""
    lines = reported.lines("parts")
    reading = 32 * SAMPLE_SECONDS
    waited, taken = total(lines, "data_wait_seconds"), total(lines, "step_seconds")
    assert waited is not None
    assert taken is not None
    assert reading <= waited
    parts = sections(lines)
    assert waited + sum(parts[name] for name in ("forward", "backward", "optimizer")) < taken


def test_evaluations_and_checkpoints_are_sections(reported: Reported) -> None:
    """Two evaluations of a slow data set, and a checkpoint, have their own sections."""
    parts = sections(reported.lines("parts"))
    assert parts["evaluation"] >= 2 * EVALUATION_SECONDS
    assert parts["checkpoint"] > 0
    assert set(parts) == {"forward", "backward", "optimizer", "logging", "evaluation", "checkpoint"}


def test_the_trainer_is_as_before_after_the_training(reported: Reported) -> None:
    """Callbacks and functions are those from before; the run is finished."""
    seen = reported.seen["parts_of_a_step"]
    before, after = seen["callbacks"]
    assert before == after
    assert (seen["replaced"], seen["finished"], seen["last_step"]) == ([], True, 4)


def test_a_resumed_training_continues_its_numbers(reported: Reported) -> None:
    """A training that is resumed at step 3 of 6 reports the steps 4 to 6, as the same attempt."""
    lines = reported.lines("resumed")
    assert reported.seen["resumed"] == 6
    assert (steps_of(lines)[0]["step"], steps_of(lines)[-1]["step"], total(lines, "steps")) == (4, 6, 3)
    assert lines[0]["attempt"] == 0


def test_a_second_training_is_a_new_attempt(reported: Reported) -> None:
    """The same trainer trains twice: each training has all its steps, and the second a new attempt."""
    first, second = reported.connections("twice")
    assert (total(first, "steps"), total(second, "steps")) == (3, 3)
    assert (first[0]["attempt"], second[0]["attempt"], reported.seen["trained_twice"]) == (0, 1, 1)
    assert first[-1] == second[-1] == {"kind": "goodbye"}


def test_a_training_that_fails_raises_as_ever_and_ends_its_run(reported: Reported) -> None:
    """The exception is the one of the data; the run is finished, and the trainer can train again."""
    assert reported.seen["failed"] == {"raised": "this sample cannot be read", "finished": True, "replaced": []}
    first, second = reported.connections("failed")
    assert first[-1] == {"kind": "goodbye"}
    assert (total(first, "steps"), total(second, "steps")) == (1, 4)
    assert second[0]["attempt"] == 1


def test_a_loss_that_is_nan_is_reported_although_the_trainer_hides_it(reported: Reported) -> None:
    """Trainer logs 0 in place of NaN; the run reports NaN."""
    assert reported.seen["not_a_number"][-1] == 0
    assert steps_of(reported.lines("nan"))[-1]["loss"] == "nan"


def test_the_loss_is_the_whole_one_where_tokens_are_counted(reported: Reported) -> None:
    """Two batches whose losses are parts of the step's loss are added up: the last one is what Trainer logs."""
    loss = steps_of(reported.lines("counted"))[-1]["loss"]
    assert loss == pytest.approx(reported.seen["counted_tokens"][-1], rel=1e-3)


def test_a_run_of_the_script_stays_open(reported: Reported) -> None:
    """`attach` returns the run that it was given, keeps its total steps, and leaves it open after the training."""
    assert reported.seen["own_run"] == [True, False, 3]
    lines = reported.lines("own")
    assert [line["total_steps"] for line in lines if line["kind"] == "hello"] == [77]


def test_a_trainer_that_was_sent_to_another_process_reports_there(reported: Reported) -> None:
    """A copied trainer opens a run of the same name and reports its two steps."""
    assert reported.seen["sent_away"] == 2
    assert total(reported.connections("sent")[-1], "steps") == 2


def test_an_evaluation_outside_of_a_training_is_not_reported(reported: Reported) -> None:
    """Only the two steps of the training are reported, and no section for evaluations."""
    lines = reported.lines("evaluated")
    assert total(lines, "steps") == 2
    assert "evaluation" not in sections(lines)
