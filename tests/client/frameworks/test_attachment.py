"""Test the run of an attached object."""

import math
import pickle
import subprocess
import sys

import pytest

import flyball
from flyball.frameworks.attachment import Attachment, attempt

HOUR_NS = 3_600_000_000_000


def begin(attachment: Attachment, *, done: int = 0, total: object = None) -> None:
    """Begin a training on rank 1 of 4."""
    attachment.begin(rank=1, world_size=4, done_steps=done, total_steps=total)


def test_the_run_opens_with_what_the_framework_knows() -> None:
    """Name, place and total steps are there from the beginning."""
    attachment = Attachment("sft", {})
    begin(attachment, total=50)
    run = attachment.run
    assert (run.name, run.rank, run.world_size, run.total_steps) == ("sft", 1, 4, 50)
    attachment.end()
    assert run.finished


def test_a_run_that_is_open_already_is_corrected() -> None:
    """`attach` opens the run before the training begins; rank and total steps arrive later."""
    attachment = Attachment("sft", {})
    run = attachment.run
    assert (run.rank, run.total_steps) == (0, None)
    begin(attachment, total=50)
    assert attachment.run is run
    assert (run.rank, run.world_size, run.total_steps) == (1, 4, 50)
    attachment.end()


def test_what_the_user_passes_comes_first() -> None:
    """Rank, world size and total steps of the caller are kept."""
    attachment = Attachment("sft", {"rank": 2, "world_size": 8, "total_steps": 7})
    begin(attachment, total=50)
    run = attachment.run
    assert (run.rank, run.world_size, run.total_steps) == (2, 8, 7)
    attachment.end()


@pytest.mark.parametrize("total", [None, -1, 0, math.inf, math.nan, 2**63, "many"])
def test_a_training_without_an_end_has_no_total_steps(total: object) -> None:
    """Infinity and other ways to write "until it is stopped" are unknown, not a number."""
    attachment = Attachment("sft", {})
    begin(attachment, total=total)
    assert attachment.run.total_steps is None
    attachment.end()


@pytest.mark.parametrize(("done", "attempt_number"), [(0, 1), (3, 0), (5, 0)])
def test_a_training_that_begins_again_earlier_is_a_new_attempt(done: int, attempt_number: int) -> None:
    """After three steps, one that begins at 0 is a new attempt; one that continues is not."""
    attachment = Attachment("sft", {})
    begin(attachment)
    run = attachment.run
    for number in (1, 2, 3):
        run.step(number)
    attachment.end()
    begin(attachment, done=done)
    assert attachment.run is run
    assert (run.finished, run.attempt) == (False, attempt_number)
    attachment.end()


def test_the_time_between_two_trainings_belongs_to_no_step() -> None:
    """A second training begins an hour after the first: no step takes that hour."""
    attachment = Attachment("sft", {})
    for _ in range(2):
        begin(attachment)
        attachment.run.step(1)
        attachment.run.step(2)
        attachment.run._began -= HOUR_NS
        attachment.end()
    begin(attachment)
    attachment.run.step(1)
    seconds = attachment.run.summary().overall.step_seconds
    assert seconds is not None
    assert seconds < 60
    attachment.end()


def test_a_run_of_the_caller_is_never_finished() -> None:
    """Its name, place and total steps stay, too."""
    with flyball.run("own", total_steps=9) as run:
        attachment = Attachment(run, {})
        begin(attachment, total=50)
        attachment.end()
        assert (run.finished, run.rank, run.total_steps) == (False, 0, 9)


def test_a_copy_leaves_the_run_behind_and_opens_its_own() -> None:
    """A pickled attachment opens a run of the same name, also where the caller had opened the first."""
    with flyball.run("own") as run:
        written = pickle.dumps(Attachment(run, {"labels": {"a": "b"}}))
    copied = pickle.loads(written)  # noqa: S301  written just before
    begin(copied)
    assert copied.run is not run
    assert copied.run.name == "own"
    copied.end()
    assert copied.run.finished


FORKING = """
import os
from flyball.frameworks.attachment import Attachment
attachment = Attachment("sft", {})
before = attachment.run
child = os.fork()
attachment.begin(rank=0, world_size=1, done_steps=0)
same = attachment.run is before
if not child:
    os._exit(same)
print(same, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0)
"""


def test_a_forked_process_opens_a_run_of_its_own() -> None:
    """In the parent the training goes on with its run; in the child it gets another one."""
    ended = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["True", "True"]


def test_a_failure_does_not_reach_the_training() -> None:
    """An exception of a measuring function is dropped."""
    attempt(lambda: 1 / 0)
