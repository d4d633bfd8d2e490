"""The kernel kills a rank at the memory limit of its control group, and the host has plenty of free memory."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from flyball_agent.clock import KernelClock
from flyball_agent.host_events import HostEventQueue
from flyball_agent.memory_kills.kernel_log import KernelLog
from flyball_agent.memory_kills.memory_kill_probe import MemoryKillProbe
from flyball_agent.probes.probe import Unavailable
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.faults.conftest import AgentMaker
from tests.faults.limited_group import limited_group
from tests.judge import last_sequence
from tests.processes import Collector, wait_for

pytestmark = pytest.mark.faults

LIMIT = 64 << 20

# Enters a control group, reports for a run, and takes three times the group's limit when a line arrives.
TRAINING = """
import json, os, socket, sys
group, path = sys.argv[1:]
open(group + "/cgroup.procs", "w").write(str(os.getpid()))
if path:
    lines = socket.socket(socket.AF_UNIX)
    lines.connect(path)
    file = lines.makefile("rw")
    file.write(json.dumps({"kind": "hello", "run": "bert", "rank": 3, "world_size": 8}) + "\\n"); file.flush()
    assert json.loads(file.readline())["kind"] == "ok"
print("ready", flush=True)
sys.stdin.readline()
taken = bytearray(192 << 20)
print("survived", flush=True)
"""


@pytest.fixture
def group() -> Iterator[Path]:
    """Return a group of 64 MiB, named like that of a Slurm job."""
    with limited_group(LIMIT) as folder:
        yield folder


def start(group: Path, socket_path: str = "") -> subprocess.Popen[str]:
    """Start the training in the group."""
    command = [sys.executable, "-c", TRAINING, str(group), socket_path]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def let_die(child: subprocess.Popen[str]) -> None:
    """Let it take more than the group may have, and wait for its end."""
    out, _ = child.communicate("go\n", timeout=60)
    if out:
        pytest.skip("this group does not enforce its limit")
    assert child.returncode == -signal.SIGKILL


def test_the_condition_names_the_limit_and_not_the_host(
    group: Path, collector: Collector, make_agent: AgentMaker
) -> None:
    """The agent finds group, limit, rank and run; the collector reports them and advises a higher limit."""
    agent = make_agent().start()
    wait_for("the host is heard", lambda: last_sequence(collector, "node-1") > 2)
    child = start(group, str(agent.socket))
    wait_for("the run is known", lambda: collector.get("/api/v1/runs/bert"))
    let_die(child)

    def diagnosis() -> Any:
        found = collector.get("/api/v1/hosts/node-1/diagnosis")
        return found if any(one["rule"] == "raise_memory_limit" for one in found["advice"]) else None

    found = wait_for("the kill is reported, with advice", diagnosis)
    [advice] = [one for one in found["advice"] if one["rule"] == "raise_memory_limit"]
    assert "--mem" in advice["change"]
    [condition] = [one for one in found["conditions"] if one["kind"] == "oom_kill"]
    text = condition["because"]
    assert "slurm/uid_0/job_42” (“Slurm job 42”) reached its memory limit of 0.07 GB" in text
    assert f"pid {child.pid}, rank 3 of run “bert”" in text
    assert "GB free" in text
    assert "memory of the host" not in text
    assert condition["severity"] == "critical"
    assert condition["confidence"] >= 0.9
    assert condition["evidence"]["limit_of_a_group"] == 1
    assert condition["evidence"]["memory_available_bytes"] > psutil.virtual_memory().total * 0.05


def kills_seen(group: Path, log: KernelLog) -> pb.OomKill:
    """Return the kill that a probe with this log reports for a process in the group."""
    child = start(group)
    member = pb.Member(pid=child.pid, run="bert", rank=3, command=sys.executable)
    body = pb.Tenancy(members=[member]).SerializeToString()
    events = HostEventQueue(KernelClock())
    probe = MemoryKillProbe(events, lambda: body, Path("/proc"), Path("/sys"), log)
    probe.read()
    let_die(child)
    found: list[pb.HostEvent] = []

    def mine() -> bool:
        probe.read()
        found.extend(event for event in events.take() if event.oom_kill.pid == child.pid)
        return bool(found)

    wait_for("the kill is read", mine)
    assert len(found) == 1
    return found[0].oom_kill


def test_the_kernels_log_and_the_counters_agree(group: Path, tmp_path: Path) -> None:
    """Without permission for the log, the counters of the group show whose limit it was."""
    counted = kills_seen(group, KernelLog(tmp_path / "none"))
    log = KernelLog()
    try:
        log.messages()
    except Unavailable as error:
        pytest.skip(error.detail)
    logged = kills_seen(group, log)
    for kill in (counted, logged):
        assert kill.group.endswith("slurm/uid_0/job_42")
        assert (kill.limit, kill.limit_bytes, kill.owner) == (pb.OomKill.GROUP, LIMIT, "Slurm job 42")
        assert LIMIT * 0.9 <= kill.used_bytes <= LIMIT
        assert (kill.run, kill.rank) == ("bert", 3)
    assert (counted.source == pb.OomKill.KERNEL_LOG, logged.source == pb.OomKill.KERNEL_LOG) == (False, True)
