"""Captures of real trainings: stacks of one that hangs, the collector's own order, and a trace of one that trains."""

import gzip
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario
from tests.processes import Agent, Collector, wait_for

FLYBALL = Path(sys.executable).parent / "flyball"
HAS_PY_SPY = shutil.which("py-spy", path=f"{FLYBALL.parent}:{os.environ.get('PATH', '')}") is not None
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

# Trains two seconds with a raw connection, then waits for a lock for ever; it reads nothing any more.
HANGS = """
import json, os, socket, sys, threading, time
path, run, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
end = socket.socket(socket.AF_UNIX)
end.connect(path)
lines = end.makefile("rw")
def send(**message):
    lines.write(json.dumps(message) + "\\n"); lines.flush(); assert json.loads(lines.readline())["kind"] == "ok"
send(kind="hello", run=run, rank=rank, world_size=2)
for step in range(1, 41):
    send(kind="steps", step=step, steps=1, step_seconds=0.05); time.sleep(0.05)
def waits_for_ever(lock):
    lock.acquire(); lock.acquire()
print("ready", flush=True)
waits_for_ever(threading.Lock())
"""

TRAINS = """
import sys, time, torch, flyball
torch.manual_seed(1)
model = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
with flyball.run("trains") as run:
    print("ready", flush=True)
    while True:
        loss = model(torch.ones(4, 16)).pow(2).sum()
        loss.backward(); optimizer.step(); optimizer.zero_grad()
        time.sleep(0.01)
        run.step(samples=4)
"""


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector to which a hang is one after the shortest time."""
    settings = {"diagnosis.runs.hang_floor_seconds": 10, "diagnosis.runs.hang_intervals": 2}
    with Collector(tmp_path_factory.mktemp("collector"), settings).start_ready() as collector:
        yield collector


@pytest.fixture(scope="module")
def gpus(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    """Two GPUs."""
    return StandIn(tmp_path_factory.mktemp("gpus"), Scenario(gpus=2))


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory, collector: Collector, gpus: StandIn) -> Iterator[Agent]:
    """An agent that listens."""
    settings = {"interval_seconds": 0.2, "nvml_library": gpus.library}
    with Agent(tmp_path_factory.mktemp("agent"), collector.grpc_port, settings).start() as agent:
        wait_for("the socket is there", agent.socket.exists)
        yield agent


@pytest.fixture
def train(agent: Agent) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts trainings, returns each when it is ready, and ends them."""
    with ExitStack() as stack:

        def start(script: str, *arguments: str) -> "subprocess.Popen[str]":
            command = [sys.executable, "-c", script, str(agent.socket), *arguments]
            environment = {**os.environ, "FLYBALL_SOCKET": str(agent.socket)}
            child = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
            stack.callback(child.kill)
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            return child

        yield start


def capture(collector: Collector, *arguments: str, cwd: Path, expected: int = 0) -> "subprocess.CompletedProcess[str]":
    command = [str(FLYBALL), "capture", *arguments, "--collector", collector.url]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=90)
    assert done.returncode == expected, done.stderr
    return done


def known_ranks(collector: Collector, run: str, count: int) -> bool:
    processes = collector.get("/api/v1/hosts/node-1")["processes"]
    return len([each for each in processes if each["run"] == run]) == count


@pytest.mark.skipif(not HAS_PY_SPY, reason="py-spy is not installed")
def test_the_stacks_of_a_training_that_hangs_name_the_function_in_which_it_hangs(
    collector: Collector, train: Callable[..., "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    """Without any help of the process, its Python function and its system call are in the text of the command."""
    child = train(HANGS, "stuck/run", "1")
    wait_for("the rank is known", lambda: known_ranks(collector, "stuck/run", 1))
    done = capture(collector, "stuck/run", "--rank", "1", cwd=tmp_path)
    assert "waits_for_ever" in done.stdout
    assert f"process {child.pid}" in done.stdout
    assert "futex" in done.stdout
    assert "== Python (py-spy) ==" in done.stdout
    assert "stuck/run" not in done.stdout.splitlines()[3], "the command line may have secrets"
    assert "rank 1 on node-1: done" in done.stderr
    noted = collector.get("/api/v1/events?kind=capture_ordered&run=stuck/run")["events"]
    assert [(each["run"], each["because"]) for each in noted] == [
        ("stuck/run", "a local user ordered the stacks of rank 1")
    ]


def test_a_rank_that_asked_for_it_writes_its_stacks_itself(
    collector: Collector, train: Callable[..., "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    """With the signal of faulthandler, neither py-spy nor a right is needed, and the training goes on."""
    script = "from flyball.captures.stacks_signal import enable\nassert enable()\n" + HANGS
    child = train(script, "asked", "0")
    wait_for("the rank is known", lambda: known_ranks(collector, "asked", 1))
    for _ in range(2):
        answer = json.loads(capture(collector, "asked", "--format", "json", cwd=tmp_path).stdout)
        (found,) = answer["captures"]
        assert found["source"] == "signal"
        assert found["text"].count("in waits_for_ever") == 1, "each dump is new"
    assert child.poll() is None


def test_the_collector_captures_the_stacks_of_all_ranks_when_a_run_hangs(
    collector: Collector, train: Callable[..., "subprocess.Popen[str]"], gpus: StandIn, tmp_path: Path
) -> None:
    """They are ordered once for the event, listed with it, and part of its capsule."""
    held = Scenario(gpus=2)
    for rank in (0, 1):
        held.process(rank, train(HANGS, "hung", str(rank)).pid, 2**30)
    gpus.play(held)
    hang = wait_for("the hang is raised", lambda: _raised(collector, "hung"))
    url = f"/api/v1/captures?condition={hang['condition']}"
    found = wait_for("the stacks are there", lambda: _all_done(collector.get(url), 2))
    assert sorted((each["rank"], each["what"], each["by"]) for each in found) == [(0, "stacks", ""), (1, "stacks", "")]
    capsule = ["capsule", hang["condition"], "--collector", collector.url, "-o", "x.flyball"]
    wait_for("the capsule is written", lambda: _runs([str(FLYBALL), *capsule], tmp_path), pause_seconds=0.5)
    with zipfile.ZipFile(tmp_path / "x.flyball") as archive:
        names = sorted(name for name in archive.namelist() if name.startswith("captures/"))
        assert [name.split("-")[0] for name in names] == ["captures/rank0", "captures/rank1"]
        assert b"rank 1 of run hung" in archive.read(names[1])
    with urllib.request.urlopen(f"{collector.url}/api/v1/capsules/{hang['condition']}", timeout=30) as answer:
        of_viewer = zipfile.ZipFile(io.BytesIO(answer.read())).namelist()
    assert not [name for name in of_viewer if name.startswith("captures/")], "a viewer may not fetch captures"
    played = [str(FLYBALL), "replay", "--format", "json", "x.flyball"]
    assert _runs(played, tmp_path), "a capsule with captures can be replayed"
    assert len(collector.get(url)["captures"]) == 2, "once for each hang"


@needs_torch
def test_a_trace_has_the_steps_and_the_training_goes_on(
    collector: Collector, train: Callable[..., "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    """The profile of three steps arrives compressed and opens as a trace with these steps; memory facts as well."""
    child = train(TRAINS)
    wait_for("the rank is known", lambda: known_ranks(collector, "trains", 1))
    capture(collector, "trains", "--what", "trace", "--steps", "3", "-o", "t.json.gz", cwd=tmp_path)
    events = json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))["traceEvents"]
    names = [event.get("name", "") for event in events]
    assert len({name for name in names if name.startswith("ProfilerStep#")}) == 3
    assert any("aten::addmm" in name or "aten::linear" in name for name in names)
    facts = wait_for("the weights are listed", lambda: _with_weights(collector, tmp_path))
    assert facts["process"]["rss_bytes"] > 10_000_000
    assert facts["cuda"] is None
    refused = capture(collector, "trains", "--what", "syncs", cwd=tmp_path, expected=1)
    assert "CUDA is not initialised in this process" in refused.stderr
    assert child.poll() is None


def _with_weights(collector: Collector, folder: Path) -> dict[str, Any] | None:
    """Capture memory; None if the search for tensors was cut off before it came to the weights: the machine is busy."""
    answer = json.loads(capture(collector, "trains", "--what", "memory", "--format", "json", cwd=folder).stdout)
    facts: dict[str, Any] = json.loads(gzip.decompress((folder / answer["captures"][0]["path"]).read_bytes()))
    shapes = [each["shape"] for each in facts["tensors"]["largest"]]
    assert [16, 16] in shapes or not facts["tensors"]["complete"], facts["tensors"]
    return facts if [16, 16] in shapes else None


def _raised(collector: Collector, run: str) -> dict[str, Any] | None:
    events = collector.get(f"/api/v1/events?kind=run_hang&state=raised&run={run}")["events"]
    return events[0] if events else None


def _all_done(answer: dict[str, Any], count: int) -> list[dict[str, Any]] | None:
    found: list[dict[str, Any]] = answer["captures"]
    return found if len(found) == count and all(each["state"] == "done" for each in found) else None


def _runs(command: list[str], cwd: Path) -> bool:
    return subprocess.run(command, cwd=cwd, capture_output=True, check=False, timeout=60).returncode == 0
