"""Trainings fork, spawn, become daemons and die in every way: the agent sees one run with one process, or none."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.judge import last_sequence
from tests.processes import Agent, Collector, wait_for

pytestmark = pytest.mark.faults

# What all trainings below begin with. `train` steps for some time, or until a file exists; a step takes 20 ms.
PROLOGUE = """
import json, os, signal, sys, threading, time
import flyball
folder = sys.argv[1]
def train(run, seconds=600.0, until=None):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (until and os.path.exists(until)):
        time.sleep(0.02)
        run.mark("forward")
        run.step(tokens=10, loss=0.5)
def show(**facts):
    facts |= {"pid": os.getpid(), "threads": len(os.listdir("/proc/self/task")), "dropped": run.dropped}
    print(json.dumps(facts), flush=True)
"""

FORK = """
run = flyball.run("fork")
train(run, 0.5)
children = []
for _ in range(3):
    child = os.fork()
    if not child:
        train(run, 2.5)
        run.finish()
        os._exit(0)
    children.append(child)
show(connected=run.connected)
train(run, 2.5)
statuses = [os.waitpid(child, 0)[1] for child in children]
train(run, 2.0)  # two reports, which an agent answers with an error after a goodbye
show(statuses=statuses, connected=run.connected)
train(run, until=folder + "/end")
"""

SPAWN = """
import multiprocessing
def work(number):
    current = flyball.current_run()
    return os.getpid() if current is None else -1
if __name__ == "__main__":
    run = flyball.run("spawn")
    train(run, 0.5)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        show(pids=pool.map(work, range(4)))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        show(pids=pool.map(os.getppid, []) or [os.getpid()])
    train(run, until=folder + "/end")
"""

LOADER = """
import torch
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, index):
        return torch.full((4,), float(index))
if __name__ == "__main__":
    run = flyball.run("loader")
    sums = []
    for method in ("fork", "spawn"):
        loader = DataLoader(Data(), batch_size=4, num_workers=2, multiprocessing_context=method)
        assert len(run.data(loader)) == 6
        total = 0.0
        for batch in run.data(loader):
            total += float(batch.sum())
            run.step(samples=4)
        sums.append(total)
    show(sums=sums)
    train(run, until=folder + "/end")
"""

DAEMON = """
run = flyball.run("daemon")
train(run, 0.5)
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
for descriptor in range(3, 256):
    try:
        os.close(descriptor)
    except OSError:
        pass
train(run, 1.5)  # it notices that its connection is closed, and connects again
limit = time.monotonic() + 60
while not run.connected and time.monotonic() < limit:
    train(run, 0.2)
show(connected=run.connected)
train(run, until=folder + "/end")
"""

EXIT = """
run = flyball.run("exit")
train(run, 0.5)
show()
train(run, until=folder + "/end")
os._exit(7)
"""

INTERRUPT = """
run = flyball.run("interrupt")
signal.signal(signal.SIGINT, signal.default_int_handler)
train(run, 0.5)
show()
try:
    train(run)
except KeyboardInterrupt:
    show(interrupted=True)
    raise
"""

KILL = """
run = flyball.run("kill")
train(run, 0.5)
show()
train(run)
"""

TRAININGS = {
    "fork": FORK,
    "spawn": SPAWN,
    "loader": LOADER,
    "daemon": DAEMON,
    "exit": EXIT,
    "interrupt": INTERRUPT,
    "kill": KILL,
}


class Training:
    """One of the trainings above."""

    def __init__(self, name: str, folder: Path, environment: dict[str, str]) -> None:
        self.name = name
        self._folder = folder
        self._end = folder / "end"
        script = folder / f"{name}.py"
        script.write_text(PROLOGUE + TRAININGS[name])
        command = [sys.executable, "-X", "dev", "-W", "error", str(script), str(folder)]
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=err, env=os.environ | environment, start_new_session=True
            )

    def facts(self, lines: int = 1) -> list[dict[str, Any]]:
        """Return what it has printed, when there are so many lines."""

        def read() -> list[str] | None:
            status = self.process.poll()
            found = (self._folder / "out").read_text().split("\n")[:-1]  # the last line may be half written
            if len(found) < lines and status not in {None, 0}:
                raise AssertionError(self.errors())
            return found if len(found) >= lines else None

        return [json.loads(line) for line in wait_for(f"{self.name} prints", read)]

    def errors(self) -> str:
        """Return what it wrote to stderr."""
        return (self._folder / "err").read_text()

    def kill(self) -> None:
        """End it and its children, also one that has left its session and waits for the end."""
        self._end.touch()
        for pid in {self.process.pid, *_members_of_session(self.process.pid, wait_seconds=0)}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(60)

    def end(self) -> int:
        """Let it end by itself, and return its status."""
        self._end.touch()
        return self.process.wait(60)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Collector, Agent]]:
    """A collector, and an agent that is heard."""
    folder = tmp_path_factory.mktemp("fleet")
    with Collector(folder / "collector") as collector:
        collector.start_ready()
        with Agent(folder / "agent", collector.grpc_port, {"interval_seconds": 0.2}) as agent:
            agent.start()
            wait_for("the host is heard", lambda: last_sequence(collector, "node-1") > 2)
            yield collector, agent


@pytest.fixture(scope="module")
def trainings(
    fleet: tuple[Collector, Agent], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Training]]:
    """All trainings at once: each has parts that take time."""
    environment = {"FLYBALL_SOCKET": str(fleet[1].socket), "OMP_NUM_THREADS": "1"}
    with ExitStack() as stack:
        started = {}
        for name in TRAININGS:
            if name == "loader" and not _has_torch():
                continue
            training = Training(name, tmp_path_factory.mktemp(name), environment)
            stack.callback(training.kill)
            started[name] = training
        yield started


def test_a_forked_child_is_not_a_second_run(fleet: tuple[Collector, Agent], trainings: dict[str, Training]) -> None:
    """Its steps are not counted, and its end does not end the run of the parent."""
    first, second = trainings["fork"].facts(2)[:2]
    assert second["statuses"] == [0, 0, 0]
    assert (first["connected"], second["connected"]) == (True, True)
    _ends_well(fleet, trainings["fork"], second)


def test_workers_of_multiprocessing_are_not_runs(
    fleet: tuple[Collector, Agent], trainings: dict[str, Training]
) -> None:
    """Neither spawned nor forked ones."""
    facts = trainings["spawn"].facts(2)
    assert -1 not in facts[0]["pids"]
    assert facts[0]["pid"] not in facts[0]["pids"]
    _ends_well(fleet, trainings["spawn"], facts[1], threads=None)


def test_loader_workers_are_not_runs(fleet: tuple[Collector, Agent], trainings: dict[str, Training]) -> None:
    """Batches are complete, with forked and spawned workers, and the workers end."""
    if "loader" not in trainings:
        pytest.skip("torch is not installed (requirements-training.txt)")
    (facts,) = trainings["loader"].facts(1)
    assert facts["sums"] == [sum(range(24)) * 4.0] * 2
    _ends_well(fleet, trainings["loader"], facts, threads=None)


def test_a_training_that_becomes_a_daemon_stays_its_run(
    fleet: tuple[Collector, Agent], trainings: dict[str, Training]
) -> None:
    """Its parent has ended, all descriptors were closed, and it reports under its new process id."""
    (facts,) = trainings["daemon"].facts(1)
    assert trainings["daemon"].process.wait(60) == 0
    assert facts["pid"] != trainings["daemon"].process.pid
    assert facts["connected"]
    wait_for("the daemon is shown", lambda: _processes(fleet[0], "daemon") == [facts["pid"]])
    trainings["daemon"].end()
    wait_for("the run has no processes", lambda: not _processes(fleet[0], "daemon"))
    assert trainings["daemon"].errors() == ""


def test_a_training_that_exits_at_once_leaves_its_run(
    fleet: tuple[Collector, Agent], trainings: dict[str, Training]
) -> None:
    """`os._exit` runs no code of ours; the agent notices."""
    (facts,) = trainings["exit"].facts(1)
    _ends_well(fleet, trainings["exit"], facts, status=7)


def test_an_interrupt_ends_a_training_as_it_would_without_the_client(
    fleet: tuple[Collector, Agent], trainings: dict[str, Training]
) -> None:
    """The exception is the training's own, and nothing of ours delays the end or writes to its output."""
    training = trainings["interrupt"]
    training.facts(1)
    wait_for("the process is shown", lambda: _processes(fleet[0], "interrupt") == [training.process.pid])
    training.process.send_signal(signal.SIGINT)
    assert training.process.wait(60) == -signal.SIGINT
    assert training.facts(2)[1]["interrupted"]
    assert training.errors().splitlines()[-1] == "KeyboardInterrupt"
    assert training.errors().count("Traceback") == 1
    wait_for("the run has no processes", lambda: not _processes(fleet[0], "interrupt"))


def test_a_killed_training_leaves_its_run(fleet: tuple[Collector, Agent], trainings: dict[str, Training]) -> None:
    """Nothing can send a goodbye; the agent notices."""
    training = trainings["kill"]
    training.facts(1)
    wait_for("the process is shown", lambda: _processes(fleet[0], "kill") == [training.process.pid])
    training.process.kill()
    training.process.wait(60)
    wait_for("the run has no processes", lambda: not _processes(fleet[0], "kill"))


def test_each_training_was_one_run_of_one_rank(fleet: tuple[Collector, Agent], trainings: dict[str, Training]) -> None:
    """After all of them, no other run has ever been there."""
    for training in trainings.values():
        training.facts(1)
    seen = {run["run"] for run in fleet[0].get("/api/v1/hosts/node-1")["runs"]}
    assert seen <= set(trainings)
    assert fleet[1].alive()


def _ends_well(
    fleet: tuple[Collector, Agent],
    training: Training,
    facts: dict[str, Any],
    *,
    status: int = 0,
    threads: int | None = 1,
) -> None:
    """Check that the run has one process with these facts, and none after the training's end."""
    collector = fleet[0]
    wait_for("one process is shown", lambda: _processes(collector, training.name) == [facts["pid"]])
    assert facts["dropped"] == 0
    assert threads is None or facts["threads"] == threads
    assert training.end() == status, training.errors()
    assert training.errors() == ""
    wait_for("the run has no processes", lambda: not _processes(collector, training.name))
    assert not _members_of_session(training.process.pid)


def _processes(collector: Collector, run: str) -> list[int]:
    return [each["pid"] for each in collector.get("/api/v1/hosts/node-1")["processes"] if each["run"] == run]


def _members_of_session(session: int, wait_seconds: float = 60) -> list[int]:
    """Return the processes of a training, zombies included, as soon as there are none."""
    deadline = time.monotonic() + wait_seconds
    while True:
        found = [
            int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _session(path) == session
        ]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def _session(path: Path) -> int:
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[3])
    except (OSError, IndexError):
        return 0


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None
