"""Tests of the limits of a pause."""

import time
from pathlib import Path

from flyball.adjustments.pause import Pause
from flyball.adjustments.process_groups import LONGEST_SECONDS, longest_wait_seconds
from tests.client.adjustments.adjusting_agent import open_rank


class QuietOwner:
    """Has nothing to exchange."""

    def __init__(self) -> None:
        self.polls = 0
        self.announced = 0

    def poll(self) -> None:
        self.polls += 1

    def announce(self) -> None:
        self.announced += 1


def test_a_pause_ends_by_itself(tmp_path: Path) -> None:
    """Without a word from the agent, a rank goes on after the longest time that is safe, and announces it."""
    run, owner = open_rank(tmp_path / "absent"), QuietOwner()
    pause = Pause(run, owner, longest=lambda: 0.15)
    pause.value.now = True
    began = time.monotonic()
    pause.wait()
    assert time.monotonic() - began >= 0.15
    assert pause.value.now is False
    assert owner.polls > 0
    assert owner.announced > 0


def test_a_pause_that_process_groups_do_not_allow_is_refused(tmp_path: Path) -> None:
    """A quarter of the smallest timeout must be long enough to be of use; else the reason is announced."""
    limits = [5.0]
    pause = Pause(open_rank(tmp_path / "absent"), QuietOwner(), longest=lambda: limits[0])
    assert pause.value.objection(True) == "pause_too_long"
    assert pause.value.facts == {"longest_seconds": "5"}
    limits[0] = 30.0
    assert pause.value.objection(True) == ""


def test_without_process_groups_the_longest_pause_is_the_default() -> None:
    """A training of one process may be paused for two minutes."""
    assert longest_wait_seconds() == LONGEST_SECONDS
