"""Tests of the list of processes that use a host, with fixture trees and real processes."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from flyball_agent.runs.registry import ReportingProcess
from flyball_agent.runs.tenancy import TenancyReader
from flyball_proto.unavailable_reading import Reason
from flyball_proto.v1 import telemetry_pb2 as pb


def add_process(proc: Path, pid: int, *, ticks: int = 5000, **environment: str) -> Path:
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "environ").write_bytes(b"\0".join(f"{key}={value}".encode() for key, value in environment.items()))
    (folder / "cgroup").write_text("0::/user.slice\n")
    (folder / "cmdline").write_bytes(b"python\0train.py\0")
    (folder / "status").write_text("Name:\tpython\nUid:\t1000\t1000\t1000\t1000\n")
    (folder / "stat").write_text(f"{pid} (python) R {' '.join(['0'] * 18)} {ticks} 0 0\n")
    return folder


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "stat").write_text("cpu 1 2 3\nbtime 1700000000\n")
    (tmp_path / "passwd").write_text("root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n")
    return tmp_path


def reader(proc: Path) -> TenancyReader:
    return TenancyReader(proc, proc / "passwd")


def on_gpus(pid: int, *gpus: str) -> list[pb.GpuProcess]:
    return [pb.GpuProcess(gpu=gpu, pid=pid) for gpu in gpus]


def client(run: str) -> ReportingProcess:
    return ReportingProcess(pid=7, uid=1000, run=run, rank=1, world_size=2, labels={})


def test_a_gpu_process_becomes_a_member(proc: Path) -> None:
    """A GPU process becomes a member with run, rank, user, command, start time and GPUs."""
    add_process(proc, 42, SLURM_JOB_ID="9", SLURM_PROCID="1", SLURM_NTASKS="4")
    (member,) = reader(proc).read(on_gpus(42, "GPU-a", "GPU-b"), {}).members
    assert (member.run, member.rank, member.world_size, member.source) == ("slurm-9", 1, 4, "slurm")
    assert (member.user, member.command, list(member.gpus)) == ("ada", "python train.py", ["GPU-a", "GPU-b"])
    assert member.started_ns == 1_700_000_000_000_000_000 + 5000 * 10**9 // os.sysconf("SC_CLK_TCK")


def test_clients_without_a_gpu_are_members_too(proc: Path) -> None:
    """A training on the CPU, or one that does not use its GPU yet, is a member."""
    add_process(proc, 7)
    (member,) = reader(proc).read([], {7: client("tiny")}).members
    assert (member.pid, member.run, member.source, list(member.gpus)) == (7, "tiny", "client", [])


def test_an_unchanged_host_is_the_same_object(proc: Path) -> None:
    """While the processes are the same, nothing is read or built again."""
    add_process(proc, 42, SLURM_JOB_ID="9")
    tenancy = reader(proc)
    first = tenancy.read(on_gpus(42, "GPU-a"), {})
    (proc / "42/environ").write_bytes(b"SLURM_JOB_ID=10")
    assert tenancy.read(on_gpus(42, "GPU-a"), {}) is first
    assert tenancy.read(on_gpus(42, "GPU-a", "GPU-b"), {}) is not first


def test_a_client_that_connects_later_counts(proc: Path) -> None:
    """A process that connects as a client later gets the run of the client, without being read again."""
    add_process(proc, 42)
    tenancy = reader(proc)
    assert tenancy.read(on_gpus(42, "GPU-a"), {}).members[0].run == ""
    assert tenancy.read(on_gpus(42, "GPU-a"), {42: client("llama")}).members[0].run == "llama"


def test_a_reused_process_id_is_another_process(proc: Path) -> None:
    """A reused process id is detected by its start time, after ten readings at the latest."""
    add_process(proc, 42, SLURM_JOB_ID="9")
    tenancy = reader(proc)
    assert tenancy.read(on_gpus(42, "GPU-a"), {}).members[0].run == "slurm-9"
    add_process(proc, 42, ticks=6000, SLURM_JOB_ID="10")
    runs = [tenancy.read(on_gpus(42, "GPU-a"), {}).members[0].run for _ in range(10)]
    assert runs[-1] == "slurm-10"


def test_a_process_without_files_is_a_member(proc: Path) -> None:
    """A process of another namespace has no files here; its GPU is reported, and the rest is empty."""
    (member,) = reader(proc).read(on_gpus(4242, "GPU-a"), {}).members
    assert (member.pid, member.run, member.source, member.command) == (4242, "", "process", "")


def test_an_unknown_user_is_a_number(proc: Path) -> None:
    """A user of a directory service is reported by number, because a query to the service could block."""
    folder = add_process(proc, 42)
    (folder / "status").write_text("Uid:\t70001\t0\t0\t0\n")
    assert reader(proc).read(on_gpus(42, "GPU-a"), {}).members[0].user == "70001"


def test_a_denied_environment_has_a_reason() -> None:
    """Without permission a process is attributed by its readable files, and the reason has a remedy."""
    tenancy = TenancyReader()
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        (member,) = tenancy.read(on_gpus(1, "GPU-a"), {}).members
    finally:
        os.seteuid(user)
    assert member.command
    assert [
        (unavailable_reading.reason, unavailable_reading.remedy) for unavailable_reading in tenancy.unavailable
    ] == [(Reason.DENIED, "give the agent CAP_SYS_PTRACE, or set probes.job_mapping_directory")]


def test_the_body_is_the_encoded_tenancy(proc: Path) -> None:
    """The body is the encoded list, and empty without processes."""
    tenancy = reader(proc)
    assert tenancy.read_body([], {}) == b""
    add_process(proc, 42, SLURM_JOB_ID="9", SLURM_JOB_PARTITION="gpu")
    body = tenancy.read_body(on_gpus(42, "GPU-a"), {})
    assert pb.Tenancy.FromString(body) == tenancy.read(on_gpus(42, "GPU-a"), {})
    assert tenancy.read_body([], {}) == b""


def test_a_real_process_is_attributed() -> None:
    """The run of a process started by the test comes from its environment."""
    environment = {**os.environ, "TORCHELASTIC_RUN_ID": "real", "RANK": "2", "WORLD_SIZE": "4"}
    for name in [name for name in environment if name.startswith("SLURM_")]:
        del environment[name]
    with subprocess.Popen([sys.executable, "-c", "input()"], env=environment, stdin=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while b"input()" not in Path(f"/proc/{process.pid}/cmdline").read_bytes() and time.monotonic() < deadline:
            time.sleep(0.005)
        (member,) = TenancyReader().read(on_gpus(process.pid, "GPU-a"), {}).members
        process.communicate(b"\n")
    assert member.labels["torchrun_id"] == "real"
    assert (member.rank, member.world_size) == (2, 4)
    assert member.command.endswith("-c input()")
    assert abs(member.started_ns - time.time_ns()) < 60 * 10**9


def test_a_client_without_a_visible_process_is_a_member(proc: Path) -> None:
    """Each has its run, rank and the user that the kernel reports; no file of another process is read for it."""
    add_process(proc, 0, FLYBALL_RUN="another")
    clients = {-rank: ReportingProcess(0, 1000, "tiny", rank, 3, {}, attempt=rank) for rank in (1, 2)}
    members = reader(proc).read([], clients).members
    assert [(m.pid, m.run, m.rank, m.user, m.attempt, m.started_ns) for m in members] == [
        (0, "tiny", 2, "ada", 2, 0),
        (0, "tiny", 1, "ada", 1, 0),
    ]


def test_a_new_attempt_is_a_change(proc: Path) -> None:
    """The member has the attempt, group, policy and version of its client, and none of them without a client."""
    add_process(proc, 7)
    tenancy = reader(proc)
    before = ReportingProcess(7, 1000, "tiny", 0, 1, {}, group="slurm-9", policy="ask", version="0.2.0")
    (member,) = tenancy.read([], {7: before}).members
    assert (member.attempt, member.group, member.policy, member.client_version) == (0, "slurm-9", "ask", "0.2.0")
    (member,) = tenancy.read([], {7: replace(before, attempt=1)}).members
    assert member.attempt == 1
    (member,) = tenancy.read(on_gpus(7, "GPU-a"), {}).members
    assert (member.attempt, member.group, member.policy, member.client_version) == (0, "", "", "")


def test_the_launcher_of_a_run_is_not_a_rank(proc: Path) -> None:
    """torchrun has the variables of the run but no GPU; its ranks report, and one has not connected yet."""
    for pid, rank in ((40, ""), (41, "0"), (42, "1")):
        add_process(proc, pid, FLYBALL_RUN="llama", FLYBALL_LABELS="team=nlp", RANK=rank, WORLD_SIZE="2")
    client = ReportingProcess(41, 1000, "llama", 0, 2, {"seed": "7"})
    members = reader(proc).read(on_gpus(41, "GPU-a") + on_gpus(42, "GPU-b"), {41: client}).members
    assert [(m.pid, m.run, m.rank, m.world_size, m.source) for m in members] == [
        (41, "llama", 0, 2, "client"),
        (42, "llama", 1, 2, "environment"),
    ]
    assert dict(members[0].labels) == {"team": "nlp", "seed": "7", "job": "llama"}
