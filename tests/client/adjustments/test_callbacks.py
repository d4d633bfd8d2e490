"""Tests of changes that a function of the script makes, at a step, at an epoch or at the next start."""

from collections.abc import Callable
from typing import Any

import pytest

from flyball import Veto
from flyball.adjustments.declaring import NO_EPOCH
from flyball.adjustments.run_adjustments import RunAdjustments
from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent, apply

Opened = Callable[..., tuple[AdjustingAgent, Run]]


def test_a_callback_is_called_and_its_observation_reported(adjusted: Opened) -> None:
    """The function that a script declares makes the change, and what it returns is the observed value."""
    agent, run = adjusted()
    seen: list[object] = []

    @run.on("activation_checkpointing", choices=(False, True))
    def switch(on: bool) -> bool:
        seen.append(on)
        return on

    run.step()
    assert apply(agent, run, "activation_checkpointing", True)["observed"] is True
    assert seen == [True]
    assert switch(False) is False


@pytest.mark.parametrize(
    ("error", "reason"),
    [(Veto("compiled model"), "compiled model"), (ValueError("odd"), "callback failed: ValueError")],
)
def test_a_callback_that_refuses_is_a_veto(adjusted: Opened, error: Exception, reason: str) -> None:
    """A veto or an exception of a callback becomes an answer, and never reaches the training."""
    agent, run = adjusted()

    @run.on("size", choices=(1, 2))
    def refuse(_: int) -> int:
        raise error

    run.step()
    answer = apply(agent, run, "size", 2)
    assert answer["kind"] == "veto"
    assert answer["reason"].startswith(reason)
    assert run.adjustments.values["size"].now == 1


def test_a_callback_for_an_epoch_waits_for_it(adjusted: Opened) -> None:
    """A change with when="epoch" is made when the next iteration of the data begins, and reported then."""
    agent, run = adjusted()
    seen: list[int] = []
    data = run.data([1, 2])

    @run.on("workers", choices=(0, 4), safety=1, when="epoch")
    def set_workers(number: int) -> None:
        seen.append(number)

    run.step()
    answer = apply(agent, run, "workers", 4)
    assert (answer["kind"], seen) == ("prepared", [])
    iter(data)
    run.step()
    assert seen == [4]
    assert agent.answers(answer["id"])[-1]["observed"] == 4


def test_an_iterator_of_its_own_begins_an_epoch(adjusted: Opened) -> None:
    """A script that passes a new generator for each epoch has epochs too."""
    agent, run = adjusted()
    seen: list[int] = []
    run.on("workers", choices=(0, 4), safety=1, when="epoch")(seen.append)
    assert list(run.data(iter([1, 2]))) == [1, 2]
    run.step()
    apply(agent, run, "workers", 4)
    assert seen == []
    assert list(run.data(iter([3]))) == [3]
    assert seen == [4]


def test_a_change_for_an_epoch_that_never_begins_is_refused(adjusted: Opened) -> None:
    """A script that does not iterate over its data through the run would leave the change waiting for ever."""
    agent, run = adjusted()
    run.on("workers", choices=(0, 4), safety=1, when="epoch")(lambda number: number)
    run.step()
    answer = apply(agent, run, "workers", 4)
    assert (answer["kind"], answer["reason"]) == ("veto", NO_EPOCH)


def test_a_change_that_waits_for_an_epoch_ends_with_the_run(adjusted: Opened) -> None:
    """A run that finishes before its next epoch reports that the change was not made."""
    agent, run = adjusted()
    run.data([1, 2])
    run.on("workers", choices=(0, 4), safety=1, when="epoch")(lambda number: number)
    run.step()
    offer = apply(agent, run, "workers", 4)["id"]
    run.finish()
    assert agent.answers(offer)[-1]["reason"] == "run ended"


def test_a_value_of_the_next_start_needs_somebody_who_restarts(adjusted: Opened) -> None:
    """Without a launcher that keeps values for the next start, such a value is blocked."""
    agent, run = adjusted()
    run.value("precision", "bf16", choices=("bf16", "fp32"), safety=3, when="restart")
    run.step()
    assert agent.values()["precision"]["blocked"] == "no_restart"


def test_a_value_of_the_next_start_is_kept(adjusted: Opened, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change for the next start is there when the run is opened again."""
    monkeypatch.setenv("FLYBALL_RESTART_STATE", str(tmp_path))
    agent, run = adjusted()
    run.value("precision", "bf16", choices=("bf16", "fp32"), safety=3, when="restart")
    run.step()
    assert apply(agent, run, "precision", "fp32")["observed"] == "fp32"
    again = RunAdjustments(run)
    run._adjustments = again
    assert run.value("precision", "bf16", choices=("bf16", "fp32"), safety=3, when="restart").now == "fp32"
