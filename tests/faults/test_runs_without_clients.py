"""Trainings without a client: processes on stand-in GPUs are runs that end, and a client takes over its job's run."""

import os
import pwd
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario
from tests.processes import Agent, Collector, wait_for

pytestmark = pytest.mark.faults

GPUS = 4
NOBODY = 65534

# Holds a GPU as a user until its standard input ends; with a socket it opens a run on it, and reports one step.
TRAINING = """
import json, os, socket, sys
os.setuid(int(sys.argv[1]))
if len(sys.argv) > 2:
    end = socket.socket(socket.AF_UNIX)
    end.connect(sys.argv[2])
    lines = end.makefile("rw")
    def send(**message):
        lines.write(json.dumps(message) + "\\n"); lines.flush(); assert json.loads(lines.readline())["kind"] == "ok"
    send(kind="hello", run=sys.argv[3], rank=int(os.environ["SLURM_PROCID"]), world_size=2)
    send(kind="steps", step=7, steps=7, step_seconds=1, loss=float("nan"))
print("ready", flush=True)
sys.stdin.read()
"""


def torchrun(port: int, rank: int) -> dict[str, str]:
    ranks = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank)}
    return {**ranks, "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}


def slurm(rank: int) -> dict[str, str]:
    return {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank), "SLURM_NTASKS": "2"}


def open_mpi(rank: int) -> dict[str, str]:
    return {
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_SIZE": "2",
        "PMIX_NAMESPACE": "prterun-n1-812@1",
    }


class Hosts:
    """Two hosts with stand-in GPUs, whose processes the test starts and ends."""

    def __init__(self, folder: Path, processes: ExitStack) -> None:
        self._stack = processes
        self.collector = processes.enter_context(
            Collector(folder / "collector", {"diagnosis.runs.end_after_seconds": 1})
        ).start_ready()
        self._standins = [StandIn(folder / f"gpus{host}", Scenario(gpus=GPUS)) for host in (0, 1)]
        self.held: list[dict[int, int]] = [{}, {}]  # by host: GPU → process
        self.agents = [self._agent(folder, host) for host in (0, 1)]
        wait_for("the agents listen", lambda: all(agent.socket.exists() for agent in self.agents))

    def _agent(self, folder: Path, host: int) -> Agent:
        chosen = {
            "host": f"node-{host}",
            "interval_seconds": 0.2,
            "nvml_library": self._standins[host].library,
            "probes.job_mapping_directory": folder / f"jobs{host}",
        }
        (folder / f"jobs{host}").mkdir()
        return self._stack.enter_context(Agent(folder / f"agent{host}", self.collector.grpc_port, chosen)).start()

    def train(
        self, host: int, gpu: int, environment: Mapping[str, str], *arguments: str, user: int | None = None
    ) -> "subprocess.Popen[str]":
        """Start a process that holds a GPU."""
        child = subprocess.Popen(
            [sys.executable, "-c", TRAINING, str(os.getuid() if user is None else user), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], **environment},
        )
        training = self._stack.enter_context(child)
        self._stack.callback(training.kill)
        assert training.stdout is not None
        assert training.stdout.readline() == "ready\n"
        self.held[host][gpu] = training.pid
        self._play(host)
        return training

    def end(self, training: "subprocess.Popen[str]") -> None:
        """End a process. The driver forgets it."""
        training.communicate()
        for host in (0, 1):
            self.held[host] = {gpu: pid for gpu, pid in self.held[host].items() if pid != training.pid}
            self._play(host)

    def _play(self, host: int) -> None:
        scenario = Scenario(gpus=GPUS)
        for gpu, pid in self.held[host].items():
            scenario.process(gpu, pid, 2**30, utilization=90)
        self._standins[host].play(scenario)

    def runs(self) -> dict[str, dict[str, Any]]:
        return {run["run"]: run for run in self.collector.get("/api/v1/runs")["runs"]}

    def await_runs(self, what: str, **expected: tuple[object, ...]) -> dict[str, dict[str, Any]]:
        """Wait until the runs are exactly these, each with its state, ranks and hosts."""
        found: dict[str, dict[str, Any]] = {}

        def as_expected() -> bool:
            found.clear()
            found.update(self.runs())
            return {n: (run["state"], run["ranks"], *run["hosts"]) for n, run in found.items()} == expected

        wait_for(what, as_expected)
        return found


@pytest.fixture
def hosts(tmp_path: Path, processes: ExitStack) -> Hosts:
    """Two hosts without trainings."""
    return Hosts(tmp_path, processes)


def test_four_trainings_without_a_client_are_four_runs(hosts: Hosts) -> None:
    """Two of torchrun at the same address on two hosts, one of Slurm and one of Open MPI are listed, and end."""
    began = time.time()
    other = NOBODY if os.geteuid() == 0 else None
    trainings = [
        hosts.train(0, 0, torchrun(29500, 0)),
        hosts.train(0, 1, torchrun(29500, 1)),
        hosts.train(1, 0, torchrun(29500, 0), user=other),
        hosts.train(1, 1, torchrun(29500, 1), user=other),
        hosts.train(0, 2, slurm(0)),
        hosts.train(1, 2, slurm(1)),
        hosts.train(0, 3, open_mpi(0)),
        hosts.train(1, 3, open_mpi(1)),
    ]
    names = ("torchrun-node-0:29500", "torchrun-node-1:29500", "slurm-4711.0", "mpi-prterun-n1-812@1")
    places = (("node-0",), ("node-1",), ("node-0", "node-1"), ("node-0", "node-1"))
    running = {name: ("running", 2, *at) for name, at in zip(names, places, strict=True)}
    found = hosts.await_runs("four runs", **running)
    users = {name: [pwd.getpwuid(other if name == names[1] and other else os.getuid()).pw_name] for name in names}
    assert {name: run["users"] for name, run in found.items()} == users
    assert {run["gpus"] for run in found.values()} == {run["world_size"] for run in found.values()} == {2}
    assert {run["step"] for run in found.values()} == {None}
    assert all(began - 60 < run["started"]["unix"] <= run["last_seen"]["unix"] for run in found.values())
    assert wait_for("the GPUs are exported", lambda: hosts.collector.metric("flyball_run_gpus") == 8)
    assert hosts.collector.metric("flyball_run_info") == 4
    for training in trainings:
        hosts.end(training)
    hosts.await_runs("all have ended", **{name: ("ended", *run[1:]) for name, run in running.items()})
    wait_for("they are not exported any more", lambda: hosts.collector.metric("flyball_run_gpus") is None)


def test_a_client_takes_over_the_run_of_its_job(hosts: Hosts) -> None:
    """A job is one run before and after the first of its ranks opens a run; its loss of NaN does not disconnect it."""
    hosts.train(1, 0, slurm(1))
    hosts.await_runs("the job", **{"slurm-4711.0": ("running", 1, "node-1")})
    client = hosts.train(0, 0, slurm(0), str(hosts.agents[0].socket), "bert")
    hosts.await_runs("the run of the client", bert=("running", 2, "node-0", "node-1"))
    wait_for("its step is shown", lambda: hosts.runs()["bert"]["step"] == 7)  # the report may come after the hello
    bert = hosts.runs()["bert"]
    assert (bert["source"], bert["gpus"]) == ("client", 2)
    assert client.poll() is None
    assert hosts.collector.metric("flyball_agent_client_errors_total") == 0


def test_a_prolog_names_the_jobs_of_gpus(hosts: Hosts, tmp_path: Path) -> None:
    """A process that names no job has the one that the job-mapping directory assigns to its GPU."""
    (tmp_path / "jobs0" / "2").write_text("815\n")
    (tmp_path / "jobs0" / "1").write_text("0\n")
    hosts.train(0, 2, {})
    hosts.train(0, 1, {})
    found = hosts.await_runs("the job", **{"job-815": ("running", None, "node-0")})
    assert (found["job-815"]["gpus"], found["job-815"]["processes"]) == (1, 1)
