"""Tests of the attribution of a process to a run, from the content of its files."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.runs.attribution import (
    Attribution,
    ProcessFiles,
    attribute,
    parse_command,
    parse_start_ticks,
    parse_uid,
)
from flyball_agent.runs.cgroup import parse_cgroup
from flyball_agent.runs.registry import Client

POD = "12345678-90ab-cdef-1234-567890abcdef"
HEX = "0123456789abcdef" * 4
SLURM = {
    "SLURM_JOB_ID": "4711",
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "16",
    "SLURM_STEP_ID": "0",
    "SLURM_JOB_PARTITION": "gpu",
}
TORCHRUN = {"TORCHELASTIC_RUN_ID": "exp-7", "RANK": "5", "WORLD_SIZE": "32", "LOCAL_RANK": "1"}
IN_POD = f"0::/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/cri-containerd-{HEX}.scope\n".encode()


SESSION = b"0::/user.slice/user-1000.slice/session-2.scope\n"


def files(environment: Mapping[str, str], cgroup: bytes = SESSION) -> ProcessFiles:
    environ = b"\0".join(f"{key}={value}".encode() for key, value in environment.items())
    return ProcessFiles(environ=environ, cgroup=cgroup)


def client(run: str = "llama", rank: int = 9, world_size: int = 64) -> Client:
    return Client(pid=1, uid=1000, run=run, rank=rank, world_size=world_size, labels={"team": "nlp"})


def summary(found: Attribution) -> tuple[str, str, int, int]:
    return found.source, found.run, found.rank, found.world_size


def test_the_client_comes_first() -> None:
    """A process that reports for a run belongs to it; the other sources become labels."""
    found = attribute(files(SLURM | TORCHRUN, IN_POD), client())
    assert summary(found) == ("client", "llama", 9, 64)
    assert found.labels["slurm_job"] == "4711"
    assert found.labels["pod_uid"] == POD
    assert found.labels["team"] == "nlp"


def test_slurm_comes_before_kubernetes_and_torchrun() -> None:
    """The job is the run. Under torchrun the rank is torchrun's, because one Slurm task starts many ranks."""
    assert summary(attribute(files(SLURM, IN_POD))) == ("slurm", "slurm-4711", 3, 16)
    assert summary(attribute(files(SLURM | TORCHRUN))) == ("slurm", "slurm-4711", 5, 32)


def test_each_task_of_a_slurm_array_is_a_run() -> None:
    """The run is named after array job and task, as in squeue."""
    found = attribute(files({**SLURM, "SLURM_ARRAY_JOB_ID": "4700", "SLURM_ARRAY_TASK_ID": "7"}))
    assert found.run == "slurm-4700_7"


def test_the_batch_step_is_not_a_step() -> None:
    """Slurm's reserved step numbers are not reported as steps."""
    for reserved in ("4294967291", "4294967292", "4294967290"):
        assert "slurm_step" not in attribute(files({**SLURM, "SLURM_STEP_ID": reserved})).labels
    assert attribute(files(SLURM)).labels["slurm_step"] == "0"


@pytest.mark.parametrize(
    "path",
    [
        "/slurm/uid_1000/job_4711/step_2/task_0",
        "/system.slice/slurmstepd.scope/job_4711/step_2/user/task_0",
        "/system.slice/node7_slurmstepd.scope/job_4711/step_2/user/task_0",
    ],
)
def test_slurm_is_known_by_its_control_group(path: str) -> None:
    """Without access to the environment, job and step come from the control group."""
    found = attribute(ProcessFiles(environ=None, cgroup=f"0::{path}\n".encode()))
    assert summary(found) == ("slurm", "slurm-4711", 0, 0)
    assert found.labels["slurm_step"] == "2"


@pytest.mark.parametrize(
    "content",
    [
        IN_POD,
        f"0::/kubepods/burstable/pod{POD}/{HEX}\n".encode(),
        f"11:memory:/kubepods/pod{POD}/{HEX}\n10:cpu:/kubepods/pod{POD}/{HEX}\n".encode(),
        f"0::/kubelet.slice/kubelet-kubepods-pod{POD.replace('-', '_')}.slice/crio-{HEX}.scope\n".encode(),
        f"0::/docker/{'a' * 64}/kubelet/kubepods/pod{POD}/{HEX}\n".encode(),
    ],
)
def test_kubernetes_is_known_by_its_control_group(content: bytes) -> None:
    """Pods are found with both cgroup drivers and all runtimes, also nested in Docker."""
    found = attribute(ProcessFiles(environ=None, cgroup=content))
    assert summary(found) == ("kubernetes", f"pod-{POD}", 0, 0)
    assert found.labels["container"] == HEX[:12]


def test_a_pod_is_named_by_its_environment() -> None:
    """Pod and namespace are named by the usual variables of the downward API."""
    itself = {"POD_NAME": "train-0", "POD_NAMESPACE": "ml", "RANK": "1", "WORLD_SIZE": "2"}
    found = attribute(files(itself, IN_POD))
    assert summary(found) == ("kubernetes", "pod-ml/train-0", 1, 2)


def test_a_pod_name_without_a_pod_is_ignored() -> None:
    """POD_NAME is ignored outside of a pod, because any process can set it."""
    assert attribute(files({"POD_NAME": "train-0"})).source == "process"


@pytest.mark.parametrize(
    ("environment", "run"),
    [
        (TORCHRUN, "torchrun-exp-7"),
        (
            {**TORCHRUN, "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "n1", "MASTER_PORT": "29500"},
            "torchrun-n1:29500",
        ),
        ({"RANK": "5", "WORLD_SIZE": "32", "MASTER_ADDR": "n1", "MASTER_PORT": "1"}, "torchrun-n1:1"),
    ],
)
def test_torchrun_is_known_by_its_variables(environment: dict[str, str], run: str) -> None:
    """A run without a name is identified by its rendezvous address."""
    assert summary(attribute(files(environment))) == ("torchrun", run, 5, 32)


@pytest.mark.parametrize(
    ("path", "run"),
    [
        (f"/system.slice/docker-{HEX}.scope", f"container-{HEX[:12]}"),
        (f"/user.slice/user-1.slice/user@1.service/user.slice/libpod-{HEX}.scope", f"container-{HEX[:12]}"),
        ("/system.slice/train.service", "unit-train.service"),
        ("/user.slice/user-1.slice/user@1.service/app.slice/jupyter.service", "unit-jupyter.service"),
    ],
)
def test_containers_and_units_are_the_last_choice(path: str, run: str) -> None:
    """Without another source, the container or the service is the run."""
    assert summary(attribute(files({}, f"0::{path}\n".encode()))) == ("cgroup", run, 0, 0)


@pytest.mark.parametrize("path", ["/", "/user.slice/user-1.slice/session-4.scope", "/system.slice/sshd.service"])
def test_other_processes_belong_to_no_run(path: str) -> None:
    """Login sessions and services of the system are not runs."""
    assert summary(attribute(files({}, f"0::{path}\n".encode()))) == ("process", "", 0, 0)


def test_text_of_processes_is_cleaned() -> None:
    """Control characters and invalid bytes are removed, long text is cut, and other variables are not kept."""
    process = ProcessFiles(
        environ=b"TORCHELASTIC_RUN_ID=a\nb\x1b[31m\xff" + b"x" * 5000 + b"\0AWS_SECRET_ACCESS_KEY=k\0"
    )
    found = attribute(process)
    assert found.run.isprintable()
    assert len(found.run) < 250
    assert set(found.labels) == {"torchrun_id"}


@pytest.mark.parametrize("rank", ["-1", "x", "99999999999", "", "1.5", "٣"])
def test_a_malformed_rank_is_ignored(rank: str) -> None:
    """A malformed rank counts as missing."""
    assert attribute(files({**TORCHRUN, "RANK": rank})).rank == 0


@given(st.binary(max_size=400), st.binary(max_size=400), st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_give_a_limited_result(environ: bytes, cgroup: bytes, cmdline: bytes, stat: bytes) -> None:
    """For any content of the files the result has a limited size."""
    found = attribute(ProcessFiles(environ=environ, cgroup=cgroup))
    assert len(found.run) <= 450
    assert len(parse_command(cmdline, stat)) <= 256
    parse_start_ticks(stat)
    parse_uid(cgroup)


def test_commands_are_short_and_keep_secrets() -> None:
    """Values of options that look secret are replaced; a process without a command line has its name."""
    line = b"python\0train.py\0--lr=1e-4\0--hf-token=abc\0--wandb-api-key\0xyz\0--password\0p\0"
    assert parse_command(line, b"") == "python train.py --lr=1e-4 --hf-token=*** --wandb-api-key *** --password ***"
    assert parse_command(b"", b"42 (a (b) c) S 1") == "a (b) c"
    assert len(parse_command(b"x" * 10_000, b"")) == 256


def test_start_and_user_are_found_in_their_files() -> None:
    """A process name with parentheses does not shift the fields."""
    stat = b"42 (evil) S) R " + b" ".join(str(number).encode() for number in range(4, 53))
    assert parse_start_ticks(stat) == 22
    assert parse_start_ticks(b"42 (x) R 1") is None
    assert parse_uid(b"Name:\tpython\nUid:\t1000\t1001\t1002\t1003\n") == 1000
    assert parse_uid(b"") is None


def test_cgroup_files_without_paths_are_empty() -> None:
    """Invalid content gives no facts."""
    assert parse_cgroup(b"nonsense\n::\n") == parse_cgroup(b"")
