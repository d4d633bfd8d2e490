"""One change of a real training with two ranks all the way: offered, approved, made by both at one step, and kept."""

import importlib.util
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.adjusted_jobs import SETTINGS, JobLauncher, adjustment, answer_of, job_launcher, propose, wait_until_known
from tests.processes import Agent, Collector, wait_for

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

STEPS_BEFORE = 350  # of 30 ms


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[tuple[Collector, JobLauncher]]:
    """A collector that may adjust, and the launcher of jobs beside its agent."""
    with ExitStack() as stack:
        collector = stack.enter_context(Collector(tmp_path / "collector", SETTINGS)).start_ready()
        agent = Agent(tmp_path / "agent", collector.grpc_port, {"adjustments.enabled": "true"})
        stack.enter_context(agent).start()
        wait_for("the agent listens", agent.socket.exists)
        yield collector, stack.enter_context(job_launcher(tmp_path / "jobs", agent.socket))


def test_a_change_goes_all_the_way(fleet: tuple[Collector, JobLauncher]) -> None:
    """Both ranks change at the step that was offered, its effect is measured, and everything is recorded."""
    collector, launcher = fleet
    job = launcher.start("all-the-way")
    wait_until_known(collector, job)
    wait_for("it has some reports to compare with", lambda: job.step(0) > STEPS_BEFORE)
    offer = propose(collector, job.name, 2)
    wait_for("it is kept", lambda: adjustment(collector, offer["id"])["state"] == "kept", seconds=180)
    done = adjustment(collector, offer["id"])
    at = done["at_step"]
    for rank in (0, 1):
        values = job.values(rank)
        assert values[at] == 1
        assert values[at + 1] == 2
        answer = answer_of(done, rank)
        assert answer is not None
        assert (answer["verdict"], answer["observed"], answer["step"]) == ("applied", 2, at)
    assert job.split_steps() == []
    assert done["effect"]["steps_after"] >= 20
    assert done["effect"]["gain_low"] <= done["effect"]["gain"] <= done["effect"]["gain_high"]
    assert done["effect"]["faults"] == []
    assert all(each["who"] for each in done["decisions"])
    job.end()
    wait_for("both ranks have ended", lambda: job.statuses == {0: 0, 1: 0})
