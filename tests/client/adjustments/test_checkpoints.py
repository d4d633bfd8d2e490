"""Tests of when to write a checkpoint: by step numbers, forced ones too, and what one costs."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent, apply
from tests.client.training.listening_socket import steps_of

Opened = Callable[..., tuple[AdjustingAgent, Run]]


def due_steps(run: Run, steps: int, every: int = 5) -> list[int]:
    """Return the steps after which a checkpoint is due."""
    found = []
    for _ in range(steps):
        run.step()
        if run.should_checkpoint(every):
            found.append(run.last_step)
    return found


def test_checkpoints_come_every_few_steps(adjusted: Opened) -> None:
    """A checkpoint is due each time that so many steps have passed; asking twice gives one answer."""
    _, run = adjusted()
    assert due_steps(run, 12) == [5, 10]
    run.step()
    assert [run.should_checkpoint(5) for _ in range(3)] == [False] * 3
    due_steps(run, 1)
    run.step()
    assert [run.should_checkpoint(5) for _ in range(3)] == [True] * 3


@pytest.mark.parametrize("every", [None, "often", float("nan"), 0, -3, object()])
def test_a_period_that_is_none_is_the_usual_one(adjusted: Opened, every: Any) -> None:
    """A script whose period is not a number of steps still has checkpoints, and is warned once."""
    _, run = adjusted()
    run.step(600)
    with pytest.warns(UserWarning, match="expected a number of steps, at least 1; 500 is used") as found:
        assert run.should_checkpoint(every) is False
    assert [each.filename for each in found] == [__file__]
    run.step(1098)
    assert run.should_checkpoint(every) is False
    run.step(1099)
    assert run.should_checkpoint(every) is True
    assert run.dropped == 1


def test_a_resumed_run_counts_from_where_it_is(adjusted: Opened) -> None:
    """A run that begins at step 1000 has its first checkpoint a whole period later."""
    _, run = adjusted()
    run.step(1000)
    assert run.should_checkpoint(5) is False
    assert due_steps(run, 10) == [1004, 1009]


def test_the_period_can_be_changed(adjusted: Opened) -> None:
    """After an offer, checkpoints follow the new period."""
    agent, run = adjusted()
    due_steps(run, 5)
    assert agent.values()["checkpoint_steps"]["value"] == 5
    apply(agent, run, "checkpoint_steps", 10)  # four steps
    assert due_steps(run, 20) == [15, 25]


def test_a_checkpoint_can_be_asked_for(adjusted: Opened) -> None:
    """A forced checkpoint is due once, after the step of its offer, and the period begins again there."""
    agent, run = adjusted()
    due_steps(run, 5, every=20)
    offer = agent.offer("checkpoint_now", False, True, at=9)
    due_steps(run, 1, every=20)
    agent.commit(offer)
    assert due_steps(run, 25, every=20) == [9, 29]
    assert agent.values()["checkpoint_now"]["value"] is False


def test_frameworks_ask_only_for_forced_checkpoints(adjusted: Opened) -> None:
    """`checkpoint_wanted` knows no period, and costs nothing without an agent that adjusts."""
    agent, run = adjusted()
    run.step()
    assert run.checkpoint_wanted() is False
    assert not run.is_adjustable
    agent.allow()
    run.step()
    assert run.checkpoint_wanted() is False
    run.step()
    assert "checkpoint_steps" not in agent.values()
    apply(agent, run, "checkpoint_now", True)
    wanted = [run.checkpoint_wanted(), run.checkpoint_wanted()]
    run.step()
    assert [*wanted, run.checkpoint_wanted()] == [True, True, False]


def test_the_cost_of_a_checkpoint_is_measured(adjusted: Opened) -> None:
    """The time of the block is a section of the step, and a fact of the period."""
    agent, run = adjusted()
    due_steps(run, 2)
    with run.checkpoint():
        time.sleep(0.02)
    run.step()
    run.step()
    assert sum(report.get("section_seconds", {}).get("checkpoint", 0) for report in steps_of(agent.read())) >= 0.02
    assert float(agent.values()["checkpoint_steps"]["facts"]["cost_seconds"]) >= 0.02


def test_a_checkpoint_of_one_rank_does_not_change_the_answers(adjusted: Opened) -> None:
    """Writing one on one rank alone leaves the period as it is: the other ranks know nothing of it."""
    _, run = adjusted()
    due_steps(run, 3)
    with run.checkpoint():
        pass
    assert due_steps(run, 5) == [5]
