"""Tests of the probe that reports kills: what the kernel's log and the groups' counters show becomes one event."""

import shutil
from pathlib import Path

import pytest

from flyball_agent.clock import KernelClock
from flyball_agent.host_events import HostEventQueue
from flyball_agent.memory_kills.kernel_log import KernelLog
from flyball_agent.memory_kills.memory_kill_probe import MOST_KILLS, MemoryKillProbe, has_kills, kill_probe
from flyball_agent.probes.testing import write_tree
from flyball_agent.settings import AgentSettings, ProbeSettings
from flyball_proto.unavailable_reading import Reason
from flyball_proto.v1 import telemetry_pb2 as pb

GIB = 1 << 30
JOB = "/slurm/uid_7/job_42"
REPORT = (
    "python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "memory: usage 1048576kB, limit 1048576kB, failcnt 31",
    f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg={JOB},task_memcg={JOB},task=python,pid=11,uid=7",
)
KILLED = "Memory cgroup out of memory: Killed process {} ({}) total-vm:9kB, anon-rss:1040000kB, file-rss:0kB"


class WrittenLog(KernelLog):
    """A kernel log with the messages that a test writes."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[str] = []

    def messages(self) -> list[str]:
        messages, self.waiting = self.waiting, []
        return messages


class FakeHost:
    """A host with the rank of a run in a Slurm job, a kernel log, and the job's counters."""

    def __init__(self, root: Path, *, log: bool = True) -> None:
        self.root, self.log = root, WrittenLog()
        write_tree(
            root,
            {
                "proc/11/cgroup": f"0::{JOB}\n",
                "sys/fs/cgroup/cgroup.controllers": "memory\n",
                f"sys/fs/cgroup{JOB}/memory.max": f"{GIB}\n",
                f"sys/fs/cgroup{JOB}/step_0/memory.max": "max\n",
            },
        )
        self.count(0)
        self.events = HostEventQueue(KernelClock())
        member = pb.Member(pid=11, run="bert", rank=3, command="/usr/bin/python train.py", labels={"slurm_job": "42"})
        tenancy = pb.Tenancy(members=[member]).SerializeToString()
        chosen = self.log if log else KernelLog(root / "none")
        self.probe = MemoryKillProbe(self.events, lambda: tenancy, root / "proc", root / "sys", chosen)
        self.probe.read()

    def count(self, kills: int) -> None:
        """Count kills at the job's limit."""
        for group, own in ((JOB, f"oom {kills}\noom_kill 0"), (f"{JOB}/step_0", f"oom 0\noom_kill {kills}")):
            folder = self.root / "sys/fs/cgroup" / group[1:]
            hits = kills if group == JOB else 0
            (folder / "memory.events").write_text(f"max 9\noom {hits}\noom_kill {kills}\n")
            (folder / "memory.events.local").write_text(f"max 9\n{own}\n")

    def read(self) -> list[pb.HostEvent]:
        """Return the events of the next reading."""
        self.probe.read()
        return self.events.take()


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    """Return a host whose kernel log can be read."""
    return FakeHost(tmp_path)


def test_the_log_names_the_limit_and_the_rank(host: FakeHost) -> None:
    """The event has the group, its owner, limit and use, and the process with its run and rank."""
    host.log.waiting = [*REPORT, KILLED.format(11, "python")]
    [event] = host.read()
    assert (event.kind, event.resource, event.code) == ("oom_kill", "python", 11)
    assert event.oom_kill == pb.OomKill(
        limit=pb.OomKill.GROUP, source=pb.OomKill.KERNEL_LOG, group=JOB, limit_bytes=GIB, used_bytes=GIB, pid=11,
        process="python", process_group=JOB, process_bytes=1040000 * 1024, run="bert", rank=3,
        owner="Slurm job 42", kills=1,
    )  # fmt: skip
    assert event.text == (
        f"the kernel killed python (pid 11) of run bert: the memory limit of its control group {JOB} was reached"
    )
    assert abs(event.time_ns - KernelClock().wall_ns()) < 60e9


def test_a_worker_of_a_rank_has_its_run_without_a_rank(host: FakeHost) -> None:
    """A loader worker is not listed, but it is in the group of its rank."""
    host.log.waiting = [*REPORT[:2]]
    assert host.read() == []
    host.log.waiting = [REPORT[2], KILLED.format(99, "pt_data_worker")]
    [event] = host.read()
    assert (event.oom_kill.run, event.oom_kill.HasField("rank")) == ("bert", False)
    assert "run bert" not in event.text


def test_a_report_without_a_group_is_completed_by_the_counters(host: FakeHost) -> None:
    """The kernel cuts reports short if there are many of them."""
    host.log.waiting = [KILLED.format(11, "python")]
    host.count(1)
    [event] = host.read()
    assert (event.oom_kill.group, event.oom_kill.limit_bytes) == (JOB, GIB)
    assert event.oom_kill.source == pb.OomKill.KERNEL_LOG


def test_without_a_log_the_counters_count(tmp_path: Path) -> None:
    """The limit comes from memory.events.local, the process is the one that has gone, and the reading has a reason."""
    host = FakeHost(tmp_path, log=False)
    assert host.read() == []
    shutil.rmtree(tmp_path / "proc/11")
    host.count(1)
    [event] = host.read()
    kill = event.oom_kill
    assert (kill.limit, kill.source, kill.group) == (pb.OomKill.GROUP, pb.OomKill.GROUP_EVENTS, JOB)
    assert (kill.limit_bytes, kill.pid, kill.process, kill.run, kill.rank) == (GIB, 11, "python", "bert", 3)
    [missing] = host.probe.read().unavailable
    assert (missing.metric, missing.reason) == ("kernel_log", Reason.ABSENT)


def test_a_kill_is_not_reported_by_log_and_counters(host: FakeHost) -> None:
    """The counters rise with each kill that the log reports."""
    host.count(1)
    assert host.read() == []
    host.log.waiting = [KILLED.format(11, "python")]
    assert len(host.read()) == 1
    host.count(2)
    assert host.read() == []


def test_many_kills_are_bounded(host: FakeHost) -> None:
    """A group that is killed as a whole does not fill the record, and names are short."""
    host.log.waiting = [KILLED.format(number + 1, "x" * 500) for number in range(3 * MOST_KILLS)]
    events = host.read()
    assert len(events) == MOST_KILLS
    assert all(len(event.resource) <= 200 for event in events)


def test_the_probe_is_built_where_there_is_a_kernel_and_can_be_disabled(tmp_path: Path) -> None:
    """Without /proc/vmstat there is no such kernel; the log is that below the host's root."""
    settings = AgentSettings(root=str(write_tree(tmp_path, {"proc/vmstat": "oom_kill 0\n"})))
    assert has_kills(settings)
    assert not has_kills(AgentSettings(proc_root=str(tmp_path / "none")))
    assert not has_kills(AgentSettings(root=str(tmp_path), probes=ProbeSettings(disabled=("memory_kills",))))
    probe = kill_probe(settings, HostEventQueue(KernelClock()), lambda: b"")
    assert str(tmp_path / "dev/kmsg") in probe.read().unavailable[0].detail
