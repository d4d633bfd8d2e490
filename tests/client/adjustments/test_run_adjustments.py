"""Tests of the protocol on a socket: what a run announces, answers and reports, between its steps."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flyball import Veto
from flyball.adjustments.declaring import NO_EPOCH
from flyball.adjustments.register import LOCAL, NONE
from flyball.adjustments.run_adjustments import RunAdjustments
from flyball.adjustments.value import MAX_CHOICES
from flyball.training.run import Run
from flyball_agent.runs.messages import Envelope, decode
from tests.client.adjustments.adjusting_agent import AdjustingAgent, wait_until
from tests.client.training.listening_socket import steps_of
from tests.client.training.standin_cuda import put_into_torch

Opened = Callable[..., tuple[AdjustingAgent, Run]]


def apply(agent: AdjustingAgent, run: Run, name: str, to: object) -> dict[str, Any]:
    """Take a change through all of the protocol, and return the last answer."""
    now = run.adjustments.values[name].now
    offer = agent.offer(name, now, to, at=run.last_step + 3)
    run.step()
    agent.commit(offer)
    for _ in range(3):
        run.step()
    return agent.answers(offer)[-1]


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


def test_throttling_sleeps_between_steps_and_is_not_their_time(adjusted: Opened) -> None:
    """A throttled run sleeps for its share of the time; reports have the sleep beside the time of the steps."""
    agent, run = adjusted()
    agent.allow()
    run.step()
    run.step()
    apply(agent, run, "throttle", 0.5)
    began = time.monotonic()
    run.step()
    before = len(steps_of(agent.read()))
    for _ in range(5):
        time.sleep(0.02)
        run.step()
    run.step()
    whole = time.monotonic() - began
    reports = steps_of(agent.read())[before:]
    throttled = sum(report.get("throttled_seconds", 0) for report in reports)
    stepped = sum(report["step_seconds"] for report in reports)
    assert throttled >= 0.08  # four sleeps of 20 ms; those after the first and the last step may be shorter
    assert stepped + throttled < whole + 0.04  # nothing was counted twice
    apply(agent, run, "throttle", 0)
    run.step()
    assert run._actions == []


def test_a_device_finishes_its_work_before_it_rests(adjusted: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host waits for the device, which is time of the step, and then both of them rest."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    cuda = put_into_torch(monkeypatch)
    agent, run = adjusted()
    agent.allow()
    run.step()
    run.step()
    apply(agent, run, "throttle", 0.5)
    before = len(steps_of(agent.read()))
    cuda.work_seconds = 0.03
    for _ in range(4):
        run.step()
    cuda.failing = True  # an error of the device is the training's to find
    run.step()
    reports = steps_of(agent.read())[before:]
    assert sum(report["step_seconds"] for report in reports) >= 0.09
    assert sum(report.get("throttled_seconds", 0) for report in reports) >= 0.06


def test_a_pause_ends_when_it_is_taken_back(adjusted: Opened) -> None:
    """A paused rank waits at its boundary, reports that it lives, and goes on with the commit of the inverse."""
    agent, run = adjusted()
    agent.allow()
    run.step()
    run.step()
    resumed = []

    def resume() -> None:
        wait_until("it pauses", lambda: [line for line in agent.of_kind("applied") if line["observed"] is True])
        wait_until("it reports", lambda: [line for line in steps_of(agent.read()) if "paused_seconds" in line])
        offer = agent.offer("pause", True, False, at=0)
        wait_until("it is prepared", lambda: agent.answers(offer))
        agent.commit(offer)
        wait_until("it resumes", lambda: len(agent.answers(offer)) == 2)
        resumed.append(agent.answers(offer)[-1]["observed"])

    offer = agent.offer("pause", False, True, at=run.last_step + 3)
    run.step()
    agent.commit(offer)
    run.step()
    governor = threading.Thread(target=resume)  # from here on, it alone reads what the run sends
    governor.start()
    run.step()
    run.step()
    governor.join()
    assert resumed == [False]
    assert run.adjustments.values["pause"].now is False
    run.step()
    paused = [line for line in steps_of(agent.read()) if "paused_seconds" in line]
    assert 0 in [line["steps"] for line in paused]
