"""A run on a GPU reports the times, losses and peaks of the GPU, and never waits for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball.training.run import Run
from tests.client.training.listening_socket import ListeningSocket, open_run, steps_of
from tests.client.training.standin_cuda import StandinCuda


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[ListeningSocket]:
    """Yield a listening socket."""
    with ListeningSocket(tmp_path / "agent.sock") as listening:
        yield listening


def train(run: Run, cuda: StandinCuda, steps: int, loss: float) -> None:
    """Train steps of 3 ms forward and 6 ms backward on the device, which finishes each in time."""
    for _ in run.data(range(steps)):
        cuda.now += 1.0  # the device waits for input
        with run.section("forward"):
            cuda.now += 3.0
        cuda.now += 6.0
        run.mark("backward")
        run.step(loss=cuda.tensor(loss))
        cuda.finish()


def test_sections_have_the_times_of_the_device(cuda: StandinCuda, agent: ListeningSocket) -> None:
    """The host only started the work: by its clock, backward took microseconds, and forward as long."""
    run = open_run(agent.path)
    train(run, cuda, 6, 1.0)
    run.finish()
    report = steps_of(agent.lines())[-2]
    sections = report["section_seconds"]
    assert sections["backward"] == pytest.approx(2 * sections["forward"], abs=2e-6)
    assert sections["forward"] + sections["backward"] <= report["step_seconds"] + 2e-6


def test_the_loss_is_the_one_that_the_device_has_computed(cuda: StandinCuda, agent: ListeningSocket) -> None:
    """Nothing reads it before; the stand-in refuses that."""
    run = open_run(agent.path)
    train(run, cuda, 4, 2.5)
    run.finish()
    reports = steps_of(agent.lines())
    assert "loss" not in reports[0]
    assert reports[-1]["loss"] == 2.5
    assert run.dropped == 0


def test_peaks_of_the_allocator_are_reported(cuda: StandinCuda, agent: ListeningSocket) -> None:
    """They are those of the process on its GPU."""
    run = open_run(agent.path)
    train(run, cuda, 2, 1.0)
    report = steps_of(agent.lines())[-1]
    assert (report["allocated_peak_bytes"], report["reserved_peak_bytes"]) == (2**30, 2**31)


def test_a_captured_step_is_left_alone(cuda: StandinCuda, agent: ListeningSocket) -> None:
    """A graph that a script captures must not contain anything of ours."""
    run = open_run(agent.path)
    train(run, cuda, 2, 1.0)
    cuda.capturing = True
    train(run, cuda, 2, 2.0)
    assert cuda.calls_while_capturing == 0
    cuda.capturing = False
    train(run, cuda, 3, 3.0)
    assert steps_of(agent.lines())[-1]["loss"] == 3.0


def test_an_error_of_the_device_does_not_reach_the_training(cuda: StandinCuda, agent: ListeningSocket) -> None:
    """Its steps are still reported."""
    run = open_run(agent.path)
    train(run, cuda, 2, 1.0)
    agent.lines()
    cuda.failing = True
    for _ in range(5):
        run.mark("forward")
        run.step(loss=None)
    assert sum(report["steps"] for report in steps_of(agent.lines())) == 5
