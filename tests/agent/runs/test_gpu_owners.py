"""Tests of the jobs and pods that own GPUs, as the agent keeps them."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from flyball_agent.runs.evidence import GpuOwners, Pod
from flyball_agent.runs.gpu_owners import GpuOwnerReader
from flyball_agent.runs.pod_resources import RETRY_SECONDS
from flyball_agent.runs.tenancy import TenancyReader
from flyball_proto.unavailable_reading import Reason
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.agent.runs.kubelet import pod_resources, serve

GPUS = (
    pb.Gpu(uuid="GPU-a", index=0),
    pb.Gpu(uuid="GPU-b", index=1, mig_instances=[pb.MigInstance(uuid="MIG-b1")]),
)
POD_CGROUP = "0::/kubepods/pod12345678-90ab-cdef-1234-567890abcdef/" + "ab" * 32 + "\n"


@pytest.fixture
def path() -> Iterator[Path]:
    """Yield a short path, because those of sockets are limited to 108 bytes."""
    with TemporaryDirectory() as folder:
        yield Path(folder) / "kubelet.sock"


def add_process(proc: Path, pid: int, cgroup: str) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "environ").write_bytes(b"")
    (folder / "cgroup").write_text(cgroup)
    (folder / "stat").write_text(f"{pid} (python) R {' '.join(['0'] * 18)} 5 0 0\n")


def test_jobs_belong_to_gpus_by_their_index(tmp_path: Path) -> None:
    """A process owns the jobs of all its GPUs and MIG instances; a change of the files is noticed."""
    (tmp_path / "0").write_text("4711\n")
    (tmp_path / "1").write_text("4712\n")
    owners = GpuOwnerReader(tmp_path, gpus=lambda: GPUS)
    assert owners.refresh(in_pods=False)
    assert owners.of(["GPU-a"]) == GpuOwners(jobs=("4711",))
    assert owners.of(["GPU-a", "MIG-b1"]) == GpuOwners(jobs=("4711", "4712"))
    assert not owners.refresh(in_pods=False)
    (tmp_path / "0").write_text("0\n")
    assert owners.refresh(in_pods=False)
    assert owners.of(["GPU-a"]) == GpuOwners()


def test_a_missing_directory_is_an_unavailable_reading(tmp_path: Path) -> None:
    """The reading names the directory and the setting; it is over when the directory is there."""
    owners = GpuOwnerReader(tmp_path / "jobs", gpus=lambda: GPUS)
    owners.refresh(in_pods=False)
    (reading,) = owners.unavailable
    assert (reading.metric, reading.reason) == ("job_mapping", Reason.FAILED)
    assert str(tmp_path / "jobs") in reading.detail
    assert "job_mapping_directory" in reading.remedy
    (tmp_path / "jobs").mkdir()
    owners.refresh(in_pods=False)
    assert owners.unavailable == ()


def test_the_kubelet_is_asked_only_for_processes_in_pods(path: Path) -> None:
    """Without a pod on the GPUs nothing is called."""
    calls: list[int] = []

    def answer() -> bytes:
        calls.append(1)
        return pod_resources({("ml", "bert-0", "main"): ["GPU-a"]})

    owners = GpuOwnerReader(pod_resources=path, gpus=lambda: GPUS)
    with serve(path, answer):
        assert not owners.refresh(in_pods=False)
        assert not calls
        assert owners.refresh(in_pods=True)
    assert owners.of(["GPU-a"]) == GpuOwners(pods=(Pod("ml", "bert-0", "main"),))


def test_a_kubelet_that_fails_is_asked_again_later(path: Path) -> None:
    """A failure is an unavailable reading, and the next call comes a minute later. A host without kubelet has none."""
    now = 0.0
    owners = GpuOwnerReader(pod_resources=path, gpus=lambda: GPUS, now=lambda: now)
    assert not owners.refresh(in_pods=True)
    assert not owners.unavailable
    with serve(path, lambda: b"\xff"):
        owners.refresh(in_pods=True)
    (reading,) = owners.unavailable
    assert (reading.metric, reading.reason) == ("pod", Reason.FAILED)
    path.unlink(missing_ok=True)
    with serve(path, lambda: pod_resources({("ml", "bert-0", "main"): ["GPU-a"]})):
        now = RETRY_SECONDS / 2
        assert not owners.refresh(in_pods=True)
        now = RETRY_SECONDS + 1
        assert owners.refresh(in_pods=True)
    assert owners.unavailable == ()


def test_pods_on_instances_of_a_gpu_are_two_runs(tmp_path: Path, path: Path) -> None:
    """A process on a MIG instance belongs to the pod of the instance; its GPU is the one that is partitioned."""
    add_process(tmp_path, 42, POD_CGROUP)
    add_process(tmp_path, 43, POD_CGROUP)
    reader = TenancyReader(tmp_path, host="n7", owners=GpuOwnerReader(pod_resources=path, gpus=lambda: GPUS))
    held = [pb.GpuProcess(gpu="GPU-b", pid=40 + each, mig_instance=f"MIG-{each}") for each in (2, 3)]
    pods = {("ml", f"try-{each}", "main"): [f"MIG-{each}"] for each in (2, 3)}
    with serve(path, lambda: pod_resources(pods)):
        members = reader.read(held, {}).members
    assert [member.run for member in members] == ["pod-ml:try-2", "pod-ml:try-3"]
    assert [(list(member.gpus), member.labels["mig_instance"]) for member in members] == [
        (["GPU-b"], "MIG-2"),
        (["GPU-b"], "MIG-3"),
    ]


def test_runs_follow_their_owners(tmp_path: Path, path: Path) -> None:
    """A process in a pod gets the pod's name, and another one its job, within ten readings after they are known."""
    proc, jobs = tmp_path / "proc", tmp_path / "jobs"
    proc.mkdir()
    jobs.mkdir()
    add_process(proc, 42, POD_CGROUP)
    add_process(proc, 43, "0::/user.slice\n")
    owners = GpuOwnerReader(jobs, path, lambda: GPUS)
    reader = TenancyReader(proc, proc / "passwd", host="n7", owners=owners)
    held = [pb.GpuProcess(gpu="GPU-a", pid=42), pb.GpuProcess(gpu="GPU-b", pid=43)]
    with serve(path, lambda: pod_resources({("ml", "bert-worker-0", "main"): ["GPU-a"]})):
        assert [member.run for member in reader.read(held, {}).members] == ["pod-ml:bert", ""]
        (jobs / "1").write_text("4711\n")
        runs = [[member.run for member in reader.read(held, {}).members] for _ in range(10)]
    assert runs[-1] == ["pod-ml:bert", "job-4711"]
