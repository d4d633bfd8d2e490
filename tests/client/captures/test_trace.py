"""A trace of a real training: the steps are in it, and the training computes what it would without it."""

import gc
import gzip
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.client.captures.capturing_agent import CapturingAgent, temporary_folders

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def training(seed: int = 3) -> Callable[[], float]:
    """Return a function that trains one step and returns its loss."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> float:
        loss = model(torch.randn(4, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def traced(agent: CapturingAgent, steps: int, step: Callable[[], float]) -> list[float]:
    losses = []
    for _ in range(steps):
        losses.append(step())
        agent.run.step()
    return losses


def events_of(content: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gzip.decompress(content))["traceEvents"]
    return found


def test_a_trace_has_the_ordered_steps_and_changes_no_loss(agent: CapturingAgent) -> None:
    """Losses are bit-equal, dropout included; the trace has as many steps as ordered, with their operations."""
    step = training()
    expected = [step() for _ in range(10)]
    step = training()
    losses = traced(agent, 2, step)
    agent.order("trace", steps=2)
    losses += traced(agent, 8, step)
    assert losses == expected
    line, content = agent.result()
    assert line["file_name"] == "trace.json.gz"
    assert "The training waited" in line["detail"]
    names = [str(event.get("name")) for event in events_of(content)]
    assert len({name for name in names if name.startswith("ProfilerStep#")}) == 2
    assert any("Adam" in name for name in names)
    assert not any("python_function" in str(event.get("cat")) for event in events_of(content)), "no stacks"
    assert temporary_folders() == []


@pytest.fixture(autouse=True)
def no_profilers() -> None:
    """Delete profiles that an earlier test has made and that wait for the garbage collection."""
    gc.collect()


def test_a_profile_of_the_script_that_is_over_does_not_prevent_a_trace(agent: CapturingAgent) -> None:
    """A script that profiled its first step keeps the results, and can be traced later."""
    step = training()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as kept:
        step()
    traced(agent, 2, step)
    agent.order("trace", steps=1)
    traced(agent, 6, step)
    assert agent.result()[0]["file_name"] == "trace.json.gz"
    assert kept.key_averages()


def test_a_profiler_of_the_script_is_left_alone(agent: CapturingAgent) -> None:
    """Running, or waiting for its first step: the order is refused, and the script's profile is complete."""
    step = training()
    done: list[object] = []
    plan = torch.profiler.schedule(wait=6, warmup=1, active=1, repeat=1)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], schedule=plan, on_trace_ready=done.append
    ) as own:
        agent.order("trace", steps=3)
        for _ in range(9):
            traced(agent, 1, step)
            own.step()
    assert agent.failure() == "the script has a torch.profiler of its own, and PyTorch allows only one"
    assert len(done) == 1


def test_a_run_that_ends_stops_the_profiler(agent: CapturingAgent) -> None:
    """After the run, the script may profile by itself."""
    step = training()
    agent.order("trace", steps=50)
    traced(agent, 5, step)
    assert torch.autograd._profiler_enabled()
    agent.run.finish()
    assert not torch.autograd._profiler_enabled()


# Is ordered to trace, and ends in the middle without a word.
ENDS_IN_THE_MIDDLE = """
import pathlib, sys, tempfile, torch
from tests.client.captures.capturing_agent import CapturingAgent
agent = CapturingAgent(pathlib.Path(sys.argv[1]))
agent.order("trace", steps=50)
for _ in range(6):
    torch.nn.Linear(3, 3)(torch.randn(2, 3)).sum().backward()
    agent.run.step()
assert torch.autograd._profiler_enabled()
sys.exit(7)
"""


def test_a_script_that_ends_in_a_trace_ends_as_it_would_without(tmp_path: Path) -> None:
    """PyTorch crashes at exit while its profiler runs, so the trace is stopped before."""
    command = [sys.executable, "-W", "ignore", "-c", ENDS_IN_THE_MIDDLE, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    assert done.returncode == 7, done.stderr


def test_warnings_of_the_script_are_as_before(agent: CapturingAgent) -> None:
    """Filters, the function that shows warnings, and what was shown already are unchanged."""

    def warn() -> None:
        warnings.warn("from the script", UserWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        warn()
        filters, show = list(warnings.filters), warnings.showwarning
        step = training()
        agent.order("trace", steps=1)
        traced(agent, 6, step)
        agent.result()
        warn()
        assert warnings.filters == filters
        assert warnings.showwarning == show
    assert len([each for each in shown if "from the script" in str(each.message)]) == 1


def test_the_largest_tensors_are_found_once(agent: CapturingAgent) -> None:
    """Views of one storage count once, with its size; tensors without a storage do no harm."""
    gc.collect()
    gc.freeze()  # other tests have left so many objects that a busy machine cannot look at all of them in time
    kept = torch.zeros(1000, 1000)
    views = [kept[0], kept.t(), kept.view(-1)]
    odd = [torch.eye(3).to_sparse(), torch.empty(2, device="meta")]
    agent.order("memory")
    try:
        agent.run.step()
    finally:
        gc.unfreeze()
    facts = json.loads(gzip.decompress(agent.result()[1]))
    of_that_size = [each for each in facts["tensors"]["largest"] if each["bytes"] == 4_000_000]
    assert [(each["device"], each["dtype"]) for each in of_that_size] == [("cpu", "torch.float32")]
    assert facts["tensors"]["complete"]
    del views, odd


def test_without_cuda_synchronising_calls_cannot_be_seen(agent: CapturingAgent) -> None:
    """The answer is a reason, not a count of zero."""
    agent.order("syncs")
    agent.run.step()
    agent.run.step()
    assert agent.failure() == "CUDA is not initialised in this process, so synchronising calls cannot be seen"
