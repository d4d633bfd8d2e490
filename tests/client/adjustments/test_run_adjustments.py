"""Tests of the protocol on a socket: what a run answers and reports between its steps."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flyball.adjustments.value import MAX_CHOICES
from flyball.training.run import Run
from flyball_agent.runs.messages import Envelope, decode
from tests.client.adjustments.adjusting_agent import AdjustingAgent, apply, wait_until
from tests.client.training.listening_socket import steps_of

Opened = Callable[..., tuple[AdjustingAgent, Run]]


def test_a_committed_change_is_made_at_its_step(adjusted: Opened) -> None:
    """The script reads the new value after the step that the offer names, and the agent gets what is observed."""
    agent, run = adjusted()
    calls = run.value("calls", 1, choices=(1, 10))
    run.step()
    offer = agent.offer("calls", 1, 10, at=5)
    run.step()
    assert [answer["kind"] for answer in agent.answers(offer)] == ["prepared"]
    agent.commit(offer)
    seen = []
    while run.last_step < 6:
        run.step()
        seen.append((run.last_step, calls.now))
    assert seen == [(3, 1), (4, 1), (5, 10), (6, 10)]
    assert agent.answers(offer)[-1] == {"kind": "applied", "id": offer, "step": 5, "observed": 10}
    assert agent.values()["calls"]["value"] == 10


def test_answers_do_not_wait_for_the_next_report(adjusted: Opened) -> None:
    """A rank that reports once a minute answers as soon as it has read an offer, and reads on at each boundary."""
    agent, run = adjusted(report_ns=60_000_000_000)
    run.value("calls", 1, choices=(1, 10))
    run.step()  # the first report
    offer = agent.offer("calls", 1, 10, at=10_000_000)
    run.exchange()
    assert [answer["kind"] for answer in agent.answers(offer)] == ["prepared"]
    agent.withdraw(offer)

    def given_up() -> bool:
        run.step()
        return len(agent.answers(offer)) == 2

    wait_until("the withdrawal is read between two reports", given_up)
    assert agent.answers(offer)[-1]["kind"] == "aborted"


def test_a_new_value_is_announced_with_the_answer(adjusted: Opened) -> None:
    """An agent that sends the values again must not send older ones: the rank would seem to have begun again."""
    agent, run = adjusted(report_ns=60_000_000_000)
    run.value("calls", 1, choices=(1, 10))
    run.step()  # the first report
    offer = agent.offer("calls", 1, 10, at=5)
    run.exchange()
    agent.commit(offer)
    while run.last_step < 5:
        run.step()
    assert agent.answers(offer)[-1]["kind"] == "applied"
    assert (agent.values()["calls"]["value"], agent.of_kind("able")[-1]["step"]) == (10, 5)


def test_boundaries_cost_nothing_while_no_offer_is_pending(adjusted: Opened) -> None:
    """With declared values and nothing pending, a step has nothing to do at its boundary."""
    agent, run = adjusted()
    run.value("calls", 1, choices=(1, 10))
    run.step()
    assert run._actions == []
    apply(agent, run, "calls", 10)
    run.step()
    assert run._actions == []


def test_a_run_that_finishes_gives_up(adjusted: Opened) -> None:
    """A pending offer is aborted with the last messages of the run."""
    agent, run = adjusted()
    run.value("calls", 1, choices=(1, 10))
    run.step()
    offer = agent.offer("calls", 1, 10, at=1000)
    run.step()
    agent.commit(offer)
    run.step()
    run.finish()
    answers = agent.answers(offer)
    assert [answer["kind"] for answer in answers] == ["prepared", "aborted"]
    assert answers[-1]["reason"] == "run ended"


FORK = """
import os, sys
from pathlib import Path
import flyball.training.fork as fork
from tests.client.adjustments.adjusting_agent import open_rank
run = open_rank(Path(sys.argv[1]))
fork.add(run)  # as flyball.run does it
calls = run.value("calls", 1, choices=(1, 10))
for command in sys.stdin:
    if command == "fork\\n":
        child = os.fork()
        if not child:
            for _ in range(5):
                run.step()
            os._exit(calls.now)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    else:
        run.step()
        print(calls.now, flush=True)
"""


def test_a_forked_child_never_answers(tmp_path: Path) -> None:
    """A child of the training that steps has nothing pending, decides nothing and sends nothing."""
    agent = AdjustingAgent(tmp_path / "agent.sock")
    command = [sys.executable, "-c", FORK, str(tmp_path / "agent.sock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as training:

        def order(command: str) -> int:
            assert training.stdin is not None
            assert training.stdout is not None
            training.stdin.write(f"{command}\n")
            return int(training.stdout.readline())

        assert order("step") == 1
        agent.socket.accept()
        offer = agent.offer("calls", 1, 10, at=4)
        order("step")
        agent.commit(offer)
        assert order("fork") == 1
        assert [answer["kind"] for answer in agent.answers(offer)] == ["prepared"]
        assert [order("step"), order("step")] == [1, 10]
        assert agent.answers(offer)[-1] == {"kind": "applied", "id": offer, "step": 4, "observed": 10}
        training.communicate()
    agent.close()


def test_memory_that_ran_out_is_reported_at_once(adjusted: Opened) -> None:
    """A rank that recovers reports the new size, the time of the retry, and counts the retry with its steps."""
    agent, run = adjusted()
    run.value("size", 8, choices=(2, 4, 8), safety=2)
    run.step()
    run.adjustments.note_oom(step=2, where="backward", name="size", from_=8, to=4, recovered=True, retry_seconds=0.25)
    run.adjustments.changed_locally("size", 4)
    (oom,) = agent.of_kind("oom")
    assert oom == {
        "kind": "oom",
        "step": 2,
        "where": "backward",
        "recovered": True,
        "name": "size",
        "from": 8,
        "to": 4,
        "retry_seconds": 0.25,
    }
    run.step()
    assert steps_of(agent.read())[-1]["oom_retries"] == 1
    assert agent.values()["size"]["value"] == 4


def test_the_agent_accepts_each_message(adjusted: Opened) -> None:
    """Values with everything that they may have, each answer, and memory that ran out, are valid for the agent."""
    agent, run = adjusted()
    run.value("calls", 1, choices=range(1, MAX_CHOICES + 1), facts={"ä" * 300: "x" * 300, "empty": ""})
    run.value("dtype", "bf16", choices=("bf16", '\\"' * 45), safety=3, when="restart")
    run.value("rate", 0.25).blocked = "no\nreason"
    run.on("odd", choices=(False, True))(lambda _: 1 / 0)
    for number in range(60):
        run.value(f"{number}", True)
    run.step()
    apply(agent, run, "calls", 7)
    apply(agent, run, "odd", True)
    agent.offer("calls", 7, 8, at=10**6)
    run.step()
    run.adjustments.note_oom(step=2, where="forward", name="calls", from_=7, to=1, recovered=True, retry_seconds=1.5)
    run.adjustments.note_oom(step=2, where="optimizer")
    run.finish()
    lines = [line for line in agent.read() if line["kind"] not in {"hello", "steps", "goodbye"}]
    assert {line["kind"] for line in lines} == {"able", "prepared", "applied", "veto", "aborted", "oom"}
    assert [line for line in lines if isinstance(decode(json.dumps(line).encode()), Envelope)] == []


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "offer"},
        {"kind": "offer", "id": "x", "name": "calls", "from": 1, "to": 10, "at": "soon", "attempt": 0},
        {"kind": "offer", "id": "x", "name": ["calls"], "from": 1, "to": 10, "at": 9, "attempt": 0},
        {"kind": "offer", "id": "x", "name": "calls", "from": 1, "to": {"a": 1}, "at": 9, "attempt": 0},
        {"kind": "offer", "id": ["x"], "name": "calls", "from": 1, "to": 10, "at": 9, "attempt": 0},
        {"kind": "commit", "id": None},
        {"kind": "withdraw"},
        {"kind": "adjustments", "enabled": []},
        {"kind": "ignored"},
    ],
)
def test_messages_that_are_not_valid_change_nothing(adjusted: Opened, message: dict[str, Any]) -> None:
    """Whatever an agent sends, the training goes on, and a valid offer after it is answered."""
    agent, run = adjusted()
    value = run.value("calls", 1, choices=(1, 10))
    run.step()
    agent.socket.send(message)
    run.step()
    run.step()
    assert run._actions == []
    assert apply(agent, run, "calls", 10)["observed"] == 10
    assert value.now == 10
