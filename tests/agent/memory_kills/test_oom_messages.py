"""Tests of the parser of the kernel's messages. The messages have the formats of Linux 3.10 to 6.18."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.memory_kills.kill import Limit, MemoryKill
from flyball_agent.memory_kills.oom_messages import OomMessages

MIB = 1 << 20
JOB = "/slurm/uid_1000/job_42/step_0"
POD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice"


def kills(text: str) -> list[MemoryKill]:
    """Return the kills that lines of a kernel log report."""
    messages = OomMessages()
    found = [messages.take(line) for line in text.strip().splitlines()]
    return [kill for kill in found if kill is not None]


GROUP_6 = f"""
python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
CPU: 1 UID: 1000 PID: 3011 Comm: python Not tainted 6.8.0 #1
memory: usage 921600kB, limit 921600kB, failcnt 310
swap: usage 0kB, limit 9007199254740988kB, failcnt 0
Memory cgroup stats for {JOB}:
anon 940572672
Tasks state (memory values in pages):
[   3011]  1000  3011   300000   229000  1900544        0             0 python
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={JOB},mems_allowed=0,oom_memcg=/slurm/uid_1000/job_42,task_memcg={JOB},task=python,pid=3011,uid=1000
Memory cgroup out of memory: Killed process 3011 (python) total-vm:1200000kB, anon-rss:916000kB, file-rss:9000kB, shmem-rss:0kB, UID:1000 pgtables:1856kB oom_score_adj:0
oom_reaper: reaped process 3011 (python), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB
"""  # noqa: E501  the kernel writes them on one line
GROUP_4_14 = """
stress invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), nodemask=(null),  order=0, oom_score_adj=0
Task in /docker/abc killed as a result of limit of /docker/abc
memory: usage 524288kB, limit 524288kB, failcnt 66
memory+swap: usage 524288kB, limit 1048576kB, failcnt 0
kmem: usage 1000kB, limit 9007199254740988kB, failcnt 0
Memory cgroup stats for /docker/abc: cache:0KB rss:523288KB rss_huge:0KB
[ pid ]   uid  tgid total_vm      rss nr_ptes nr_pmds swapents oom_score_adj name
Memory cgroup out of memory: Kill process 812 (stress) score 999 or sacrifice child
Killed process 815 (stress) total-vm:800000kB, anon-rss:510000kB, file-rss:100kB, shmem-rss:0kB
"""
GROUP_3_10 = """
python invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0
Task in /slurm/uid_7/job_9 killed as a result of limit of /slurm/uid_7/job_9
memory: usage 1000kB, limit 2097152kB, failcnt 0
memory+swap: usage 4194304kB, limit 4194304kB, failcnt 12
Memory cgroup out of memory: Kill process 99 (python) score 990 or sacrifice child
Killed process 99 (python), UID 7, total-vm:4200000kB, anon-rss:2000kB, file-rss:10kB, shmem-rss:0kB
"""
HOST_5_15 = """
kworker invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0
Mem-Info:
active_anon:100 inactive_anon:4000000 isolated_anon:0
oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice/user-1000.slice/session-1.scope,task=python3,pid=77,uid=1000
Out of memory: Killed process 77 (python3) total-vm:30000000kB, anon-rss:22000000kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:44000kB oom_score_adj:0
"""  # noqa: E501  the kernel writes them on one line
HOST_4_9 = """
ls invoked oom-killer: gfp_mask=0x24201ca(GFP_HIGHUSER_MOVABLE|__GFP_COLD), nodemask=0, order=0, oom_score_adj=0
Out of memory: Kill process 77 (python) score 905 or sacrifice child
Killed process 77 (python) total-vm:30000000kB, anon-rss:22000000kB, file-rss:0kB, shmem-rss:0kB
"""
NODES = """
python invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_ZERO), order=0, oom_score_adj=0
oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=(null),cpuset=/half,mems_allowed=1,global_oom,task_memcg=/half,task=python,pid=5,uid=0
Out of memory: Killed process 5 (python) total-vm:100kB, anon-rss:50kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:44kB oom_score_adj:0
"""  # noqa: E501  the kernel writes them on one line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            GROUP_6,
            MemoryKill(
                Limit.GROUP, group="/slurm/uid_1000/job_42", limit_bytes=900 * MIB, used_bytes=900 * MIB,
                pid=3011, process="python", process_group=JOB, process_bytes=916000 * 1024,
            ),
        ),
        (
            GROUP_4_14,
            MemoryKill(
                Limit.GROUP, group="/docker/abc", limit_bytes=512 * MIB, used_bytes=512 * MIB,
                pid=815, process="stress", process_group="/docker/abc", process_bytes=510000 * 1024,
            ),
        ),
        (
            GROUP_3_10,
            MemoryKill(
                Limit.GROUP, group="/slurm/uid_7/job_9", limit_bytes=4096 * MIB, used_bytes=4096 * MIB,
                pid=99, process="python", process_group="/slurm/uid_7/job_9", process_bytes=2000 * 1024,
            ),
        ),
        (
            HOST_5_15,
            MemoryKill(
                Limit.HOST, pid=77, process="python3", process_bytes=22000000 * 1024,
                process_group="/user.slice/user-1000.slice/session-1.scope",
            ),
        ),
        (HOST_4_9, MemoryKill(Limit.HOST, pid=77, process="python", process_bytes=22000000 * 1024)),
        (
            NODES,
            MemoryKill(
                Limit.NUMA_NODES, pid=5, process="python", process_bytes=50 * 1024, process_group="/half", nodes="1"
            ),
        ),
    ],
    ids=["group 6.8", "group 4.14", "memory and swap 3.10", "host 5.15", "host 4.9", "NUMA nodes"],
)  # fmt: skip
def test_each_kernel_version_names_whose_memory_ran_out(text: str, expected: MemoryKill) -> None:
    """Group, limit, use, process and its group come from the messages of every kernel version."""
    assert kills(text) == [expected]


def test_a_report_that_the_kernel_cut_down_has_no_group() -> None:
    """The kernel limits the rate of reports; the group of an earlier kill must not be taken for that of a later one."""
    short = "Memory cgroup out of memory: Killed process 8 (java) total-vm:9kB, anon-rss:4kB, file-rss:0kB"
    [_, second] = kills(GROUP_6 + short)
    assert second == MemoryKill(Limit.GROUP, pid=8, process="java", process_bytes=4096)


def test_a_group_that_is_killed_as_a_whole_is_the_cause_of_all_its_kills() -> None:
    """With memory.oom.group the kernel kills the other processes without a report for each."""
    more = f"""Tasks in {JOB} are going to be killed due to memory.oom.group set
Memory cgroup out of memory: Killed process 8 (pt_data_worker) total-vm:9kB, anon-rss:4kB, file-rss:0kB
Memory cgroup out of memory: Killed process 9 (pt_data_worker) total-vm:9kB, anon-rss:4kB, file-rss:0kB"""
    found = kills(GROUP_6 + more)
    assert [(kill.pid, kill.group) for kill in found] == [(pid, "/slurm/uid_1000/job_42") for pid in (3011, 8, 9)]


def test_names_with_the_kernels_own_words_do_not_change_the_parts() -> None:
    """A process may be named like a part of the message."""
    text = HOST_5_15.replace("task=python3", "task=x,pid=1,uid=0").replace("(python3)", "(a) (b)")
    [kill] = kills(text)
    assert (kill.pid, kill.process, kill.limit) == (77, "a) (b", Limit.HOST)
    assert kill.process_group == "/user.slice/user-1000.slice/session-1.scope"


@given(st.lists(st.sampled_from([*GROUP_6.splitlines(), *GROUP_3_10.splitlines(), "oom-kill:", "memory: usage"])))
def test_any_order_of_lines_is_parsed(lines: list[str]) -> None:
    """Lines may be missing or mixed; every line of a kill gives one kill, and nothing else does."""
    killed = [line for line in lines if "Killed process" in line]
    found = kills("\n".join(["x", *lines]))
    assert [kill.pid for kill in found] == [3011 if "3011" in line else 99 for line in killed]
