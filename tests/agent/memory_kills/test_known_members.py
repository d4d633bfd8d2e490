"""Tests of the processes of trainings that are remembered for their kill."""

import shutil
from pathlib import Path

import pytest

from flyball_agent.memory_kills.known_members import KEPT_TICKS, KnownMembers, owner_of
from flyball_agent.probes.testing import write_tree
from flyball_proto.v1 import telemetry_pb2 as pb

POD_UID = "0fb1d3c8-3c34-4b1c-9f3f-0123456789ab"
POD = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD_UID.replace('-', '_')}.slice"
CONTAINER = f"{POD}/cri-containerd-{'3f' * 32}.scope"


def body(*members: pb.Member) -> bytes:
    return pb.Tenancy(members=members).SerializeToString()


def test_a_process_is_found_after_its_end_and_forgotten_later(tmp_path: Path) -> None:
    """A kill is read up to a second after the process has ended."""
    write_tree(tmp_path, {"11/cgroup": "4:memory:/job_1\n0::/unified\n"})
    members = KnownMembers(tmp_path, "memory")
    members.update(body(pb.Member(pid=11, run="bert", rank=3)))
    assert members.groups() == ("/job_1",)
    shutil.rmtree(tmp_path / "11")
    members.update(b"")
    found = members.find(11)
    assert found is not None
    assert (found.member.run, found.member.rank, found.group, members.groups()) == ("bert", 3, "/job_1", ())
    for _ in range(KEPT_TICKS + 1):
        members.update(b"")
    assert members.find(11) is None


def test_an_id_that_is_used_again_is_another_process(tmp_path: Path) -> None:
    """Its group is read again."""
    write_tree(tmp_path, {"11/cgroup": "0::/a\n"})
    members = KnownMembers(tmp_path, "")
    members.update(body(pb.Member(pid=11, started_ns=1)))
    (tmp_path / "11/cgroup").write_text("0::/b\n")
    members.update(body(pb.Member(pid=11, started_ns=2)))
    assert members.groups() == ("/b",)


def test_the_one_process_that_has_gone_is_the_one_killed(tmp_path: Path) -> None:
    """Counters do not name the process; two that have gone leave it open."""
    write_tree(tmp_path, {f"{pid}/cgroup": "0::/job\n" for pid in (1, 2, 3)})
    members = KnownMembers(tmp_path, "")
    members.update(body(*(pb.Member(pid=pid, run="r", rank=pid) for pid in (1, 2, 3))))
    assert members.killed_in("/job") is None
    shutil.rmtree(tmp_path / "2")
    killed = members.killed_in("/job")
    assert killed is not None
    assert killed.member.rank == 2
    shutil.rmtree(tmp_path / "3")
    assert members.killed_in("/job") is None


def test_the_run_of_a_group_is_known_if_it_is_one_run(tmp_path: Path) -> None:
    """A loader worker is not a member, but it is in the group of its rank, or in one inside it."""
    write_tree(
        tmp_path, {"1/cgroup": "0::/a\n", "2/cgroup": "0::/a\n", "3/cgroup": "0::/shared\n", "4/cgroup": "0::/shared\n"}
    )
    members = KnownMembers(tmp_path, "")
    members.update(body(*(pb.Member(pid=pid, run=run) for pid, run in ((1, "x"), (2, "x"), (3, "x"), (4, "y")))))
    runs = [
        found.member.run if (found := members.of_group(group)) else None for group in ("/a", "/a/b", "/shared", "/")
    ]
    assert runs == ["x", "x", None, None]


@pytest.mark.parametrize(
    ("group", "owner"),
    [
        (CONTAINER, "container main of pod research/bert-0"),
        (POD, "pod research/bert-0"),
        ("/slurm/uid_1000/job_42/step_0/task_3", "Slurm job 42, step 0"),
        ("/system.slice/slurmstepd.scope/job_42/step_batch/user/task_0", "Slurm job 42, step batch"),
        (f"/docker/{'ab' * 32}", f"container {'ab' * 6}"),
        ("/system.slice/train.service", "train.service"),
        ("/kubepods.slice", "all pods of the node"),
        ("/user.slice/user-1000.slice", "the sessions of user 1000"),
        ("/mine", ""),
    ],
)
def test_the_owner_of_a_group_is_named(tmp_path: Path, group: str, owner: str) -> None:
    """Paths of Kubernetes, Slurm with both versions of control groups, Docker and systemd name what has the limit."""
    write_tree(tmp_path, {"1/cgroup": f"0::{CONTAINER}\n"})
    labels = {"pod_uid": POD_UID, "pod": "bert-0", "namespace": "research", "container_name": "main"}
    members = KnownMembers(tmp_path, "")
    members.update(body(pb.Member(pid=1, run="x", labels=labels)))
    assert owner_of(group, members.find(1)) == owner


def test_a_pod_without_a_name_has_its_id() -> None:
    """Without the kubelet only the path is known."""
    assert owner_of(CONTAINER, None) == f"container {'3f' * 6} of pod {POD_UID}"
