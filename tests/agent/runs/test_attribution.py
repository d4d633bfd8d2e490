"""To which run a process belongs, from the bytes of its files alone."""

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
from flyball_agent.runs.book import Client
from flyball_agent.runs.cgroup import parse_cgroup

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
    said = b"\0".join(f"{key}={value}".encode() for key, value in environment.items())
    return ProcessFiles(environ=said, cgroup=cgroup)


def client(run: str = "llama", rank: int = 9, world_size: int = 64) -> Client:
    return Client(pid=1, uid=1000, run=run, rank=rank, world_size=world_size, labels={"team": "nlp"})


def whose(found: Attribution) -> tuple[str, str, int, int]:
    return found.source, found.run, found.rank, found.world_size


def test_the_clients_word_comes_first() -> None:
    """A process that speaks for a run belongs to it; what surrounds it becomes labels."""
    found = attribute(files(SLURM | TORCHRUN, IN_POD), client())
    assert whose(found) == ("client", "llama", 9, 64)
    assert found.labels["slurm_job"] == "4711"
    assert found.labels["pod_uid"] == POD
    assert found.labels["team"] == "nlp"


def test_slurm_comes_before_kubernetes_and_torchrun() -> None:
    """The job names the run; under torchrun the rank is torchrun's, for one task starts many ranks."""
    assert whose(attribute(files(SLURM, IN_POD))) == ("slurm", "slurm-4711", 3, 16)
    assert whose(attribute(files(SLURM | TORCHRUN))) == ("slurm", "slurm-4711", 5, 32)


def test_each_task_of_a_slurm_array_is_a_run() -> None:
    """The array's number and the task's name the run as squeue does."""
    found = attribute(files({**SLURM, "SLURM_ARRAY_JOB_ID": "4700", "SLURM_ARRAY_TASK_ID": "7"}))
    assert found.run == "slurm-4700_7"


def test_the_batch_step_is_no_step() -> None:
    """Slurm's reserved step numbers are not shown as steps."""
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
    """Where the environment is denied, the control group still tells job and step."""
    found = attribute(ProcessFiles(environ=None, cgroup=f"0::{path}\n".encode()))
    assert whose(found) == ("slurm", "slurm-4711", 0, 0)
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
    """Both drivers of control groups, all runtimes, also nested in Docker."""
    found = attribute(ProcessFiles(environ=None, cgroup=content))
    assert whose(found) == ("kubernetes", f"pod-{POD}", 0, 0)
    assert found.labels["container"] == HEX[:12]


def test_a_pod_that_names_itself_is_known_by_name() -> None:
    """The downward API's usual variables name pod and namespace."""
    itself = {"POD_NAME": "train-0", "POD_NAMESPACE": "ml", "RANK": "1", "WORLD_SIZE": "2"}
    found = attribute(files(itself, IN_POD))
    assert whose(found) == ("kubernetes", "pod-ml/train-0", 1, 2)


def test_a_pod_name_without_a_pod_proves_nothing() -> None:
    """Anybody can set POD_NAME."""
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
    """A run without a name of its own is known by where its ranks meet."""
    assert whose(attribute(files(environment))) == ("torchrun", run, 5, 32)


@pytest.mark.parametrize(
    ("path", "run"),
    [
        (f"/system.slice/docker-{HEX}.scope", f"container-{HEX[:12]}"),
        (f"/user.slice/user-1.slice/user@1.service/user.slice/libpod-{HEX}.scope", f"container-{HEX[:12]}"),
        ("/system.slice/train.service", "unit-train.service"),
        ("/user.slice/user-1.slice/user@1.service/app.slice/jupyter.service", "unit-jupyter.service"),
    ],
)
def test_containers_and_units_are_runs_of_last_resort(path: str, run: str) -> None:
    """A container or somebody's service groups processes."""
    assert whose(attribute(files({}, f"0::{path}\n".encode()))) == ("cgroup", run, 0, 0)


@pytest.mark.parametrize("path", ["/", "/user.slice/user-1.slice/session-4.scope", "/system.slice/sshd.service"])
def test_a_plain_process_belongs_to_no_run(path: str) -> None:
    """A login session and the machine's own services are no runs."""
    assert whose(attribute(files({}, f"0::{path}\n".encode()))) == ("process", "", 0, 0)


def test_text_of_processes_is_made_harmless() -> None:
    """Control characters, invalid bytes and length do not travel; other variables do not either."""
    said = ProcessFiles(environ=b"TORCHELASTIC_RUN_ID=a\nb\x1b[31m\xff" + b"x" * 5000 + b"\0AWS_SECRET_ACCESS_KEY=k\0")
    found = attribute(said)
    assert found.run.isprintable()
    assert len(found.run) < 250
    assert set(found.labels) == {"torchrun_id"}


@pytest.mark.parametrize("rank", ["-1", "x", "99999999999", "", "1.5", "٣"])
def test_a_rank_that_is_no_number_is_not_taken(rank: str) -> None:
    """A malformed rank counts as unsaid."""
    assert attribute(files({**TORCHRUN, "RANK": rank})).rank == 0


@given(st.binary(max_size=400), st.binary(max_size=400), st.binary(max_size=200), st.binary(max_size=200))
def test_no_bytes_disturb_it(environ: bytes, cgroup: bytes, cmdline: bytes, stat: bytes) -> None:
    """Whatever the files hold, there is an answer of bounded size."""
    found = attribute(ProcessFiles(environ=environ, cgroup=cgroup))
    assert len(found.run) <= 450
    assert len(parse_command(cmdline, stat)) <= 256
    parse_start_ticks(stat)
    parse_uid(cgroup)


def test_commands_are_short_and_keep_secrets() -> None:
    """Values of options that look like secrets are hidden; a process without a command line has its name."""
    line = b"python\0train.py\0--lr=1e-4\0--hf-token=abc\0--wandb-api-key\0xyz\0--password\0p\0"
    assert parse_command(line, b"") == "python train.py --lr=1e-4 --hf-token=*** --wandb-api-key *** --password ***"
    assert parse_command(b"", b"42 (a (b) c) S 1") == "a (b) c"
    assert len(parse_command(b"x" * 10_000, b"")) == 256


def test_start_and_user_are_found_in_their_files() -> None:
    """A name with parentheses does not shift the fields."""
    stat = b"42 (evil) S) R " + b" ".join(str(number).encode() for number in range(4, 53))
    assert parse_start_ticks(stat) == 22
    assert parse_start_ticks(b"42 (x) R 1") is None
    assert parse_uid(b"Name:\tpython\nUid:\t1000\t1001\t1002\t1003\n") == 1000
    assert parse_uid(b"") is None


def test_cgroup_files_without_paths_say_nothing() -> None:
    """Rubbish is no container."""
    assert parse_cgroup(b"nonsense\n::\n") == parse_cgroup(b"")
