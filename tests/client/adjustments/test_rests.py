"""Tests of throttling and pausing: time between steps that belongs to none of them."""

import threading
import time
from collections.abc import Callable

import pytest

from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent, apply, wait_until
from tests.client.training.listening_socket import steps_of
from tests.client.training.standin_cuda import put_into_torch

Opened = Callable[..., tuple[AdjustingAgent, Run]]


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
