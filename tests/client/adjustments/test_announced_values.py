"""Tests of what a run announces to the agent that it can change."""

from collections.abc import Callable
from typing import Any

import pytest

from flyball.adjustments.register import LOCAL, NONE
from flyball.adjustments.run_adjustments import RunAdjustments
from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent, apply, wait_until

Opened = Callable[..., tuple[AdjustingAgent, Run]]


def test_a_run_without_values_announces_nothing(adjusted: Opened) -> None:
    """A run with an agent that adjusts nothing imports nothing and sends only its steps."""
    agent, run = adjusted()
    for _ in range(3):
        run.step()
    assert {line["kind"] for line in agent.read()} == {"hello", "steps"}
    assert not run.is_adjustable


def test_an_agent_that_allows_adjustments_gets_the_values_of_every_run(adjusted: Opened) -> None:
    """Throttling and pausing are declared as soon as the agent allows adjustments, and not before."""
    agent, run = adjusted()
    run.step()
    agent.allow()
    run.step()
    run.step()
    assert set(agent.values()) == {"throttle", "pause"}
    able = agent.of_kind("able")[-1]
    assert (able["policy"], able["register"], able["group"], able["attempt"]) == ("auto", "local", "job", 0)


def test_a_declared_value_is_announced_with_the_next_report(adjusted: Opened) -> None:
    """A value is announced once, with everything that the governor must know, and again when it changes."""
    agent, run = adjusted()
    value = run.value("node0_calls", 1, choices=(1, 10, 50), facts={"service": "kato"})
    for _ in range(4):
        run.step()
    announced = agent.values()["node0_calls"]
    assert announced == {
        "name": "node0_calls",
        "value": 1,
        "choices": [1, 10, 50],
        "safety": 1,
        "when": "step",
        "lever": "calls_per_batch",
        "facts": {"service": "kato"},
        "blocked": "",
    }
    # The second time with the duration of a step, which is not known before the first step has ended.
    assert [able["step_seconds"] > 0 for able in agent.of_kind("able")] == [False, True]
    value.blocked = "service is down"
    run.step()
    assert agent.values()["node0_calls"]["blocked"] == "service is down"


def test_an_agent_that_does_not_know_values_gets_them_once(adjusted: Opened) -> None:
    """After `ignored`, values are not announced any more, until the agent allows adjustments."""
    agent, run = adjusted()
    value = run.value("calls", 1, choices=(1, 10))
    run.step()
    run.step()
    agent.socket.send({"kind": "ignored", "ignored": "able"})
    run.step()
    announced = len(agent.of_kind("able"))
    value.blocked = "busy"
    run.step()
    assert len(agent.of_kind("able")) == announced
    agent.allow()
    run.step()
    run.step()
    assert len(agent.of_kind("able")) == announced + 1


def test_values_are_announced_again_after_a_reconnect(adjusted: Opened) -> None:
    """An agent that restarts learns the values of the runs that connect again."""
    agent, run = adjusted()
    run.value("calls", 1, choices=(1, 10))
    run.step()
    run.step()
    announced = len(agent.of_kind("able"))
    agent.socket.hang_up()

    def is_connected_again() -> bool:
        run.step()
        return run.connected and run.hellos == 2

    wait_until("the run connects again", is_connected_again)
    agent.socket.accept()
    run.step()
    assert len(agent.of_kind("able")) == announced + 1


def test_the_same_declaration_again_is_the_same_value(adjusted: Opened) -> None:
    """A function that declares its value at each call keeps what Flyball has changed."""
    agent, run = adjusted()
    first = run.value("calls", 1, choices=(1, 10))
    run.step()
    apply(agent, run, "calls", 10)
    assert run.value("calls", 1, choices=(1, 10)) is first
    other = run.value("calls", 1, choices=(1, 5))
    assert other.now == 1
    assert run.adjustments.values["calls"] is other


@pytest.mark.filterwarnings("ignore:flyball:UserWarning")
def test_a_wrong_declaration_does_not_reach_the_training(adjusted: Opened) -> None:
    """A declaration that is not valid is counted, and the script's own value stays in use."""
    agent, run = adjusted()
    assert run.value("calls", 3, choices=5).now == 3  # type: ignore[arg-type]  # wrong on purpose
    assert run.value("", 3).now == 3
    assert run.value("pool", 3, choices=(3, float("nan"))).now == 3
    assert run.dropped == 3
    initial: Any
    for initial in (None, [1], float("nan")):
        with pytest.warns(UserWarning, match="'odd' cannot be adjusted"):
            assert run.value("odd", initial).now is initial
    with pytest.warns(UserWarning, match="every run has a value with this name"):
        assert run.value("pause", True, choices=(True, False)).now is True
    assert run.dropped == 7
    run.value("workers", 1, choices=(1, 2))
    run.step()
    assert set(agent.values()) == {"throttle", "pause", "workers"}


def test_a_register_that_appears_is_announced(adjusted: Opened) -> None:
    """A process group that begins after the first report makes more changes possible, and the agent learns so."""
    agent, run = adjusted()
    kinds = [NONE]
    run._adjustments = RunAdjustments(run, lambda _: kinds[-1])
    run.step()
    run.step()
    kinds.append(LOCAL)
    run.step()
    run.step()
    assert [able["register"] for able in agent.of_kind("able")] == ["none", "none", "local"]


def test_a_run_with_the_policy_off_changes_nothing(adjusted: Opened) -> None:
    """With policy="off", values work as plain ones, nothing is announced, and an offer is vetoed by the owner."""
    agent, run = adjusted(policy="off")
    run.value("calls", 1, choices=(1, 10))
    agent.allow()
    run.step()
    run.step()
    offer = agent.offer("calls", 1, 10, at=9)
    run.step()
    assert agent.of_kind("able") == []
    assert [answer["reason"] for answer in agent.answers(offer)] == ["owner"]
