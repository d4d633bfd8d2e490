"""Tests of the attribution of a process to a run, from the content of its files."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.runs.attribution import JOB, Attribution, attribute
from flyball_agent.runs.cgroup import parse_cgroup
from flyball_agent.runs.evidence import GpuOwners, Pod
from flyball_agent.runs.process_files import ProcessFiles, parse_command, parse_start_ticks, parse_uid
from flyball_agent.runs.registry import ReportingProcess

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


def client(run: str = "llama", rank: int = 9, world_size: int = 64) -> ReportingProcess:
    return ReportingProcess(pid=1, uid=1000, run=run, rank=rank, world_size=world_size, labels={"team": "nlp"})


def summary(found: Attribution) -> tuple[str, str, int, int]:
    return found.source, found.run, found.rank, found.world_size


def test_the_client_comes_first() -> None:
    """A process that reports for a run belongs to it; the other sources become labels."""
    found = attribute(files(SLURM | TORCHRUN, IN_POD), client())
    assert summary(found) == ("client", "llama", 9, 64)
    assert found.labels["slurm_job"] == "4711"
    assert found.labels["pod_uid"] == POD
    assert found.labels["team"] == "nlp"
    assert found.labels[JOB] == "slurm-4711.0"


def test_slurm_comes_before_kubernetes_and_torchrun() -> None:
    """The job is the run. Under torchrun the rank is torchrun's, because one Slurm task starts many ranks."""
    assert summary(attribute(files(SLURM, IN_POD))) == ("slurm", "slurm-4711.0", 3, 16)
    assert summary(attribute(files(SLURM | TORCHRUN))) == ("slurm", "slurm-4711.0", 5, 32)


def test_each_task_of_a_slurm_array_is_a_run() -> None:
    """The run is named after array job and task, as in squeue."""
    found = attribute(files({**SLURM, "SLURM_ARRAY_JOB_ID": "4700", "SLURM_ARRAY_TASK_ID": "7"}))
    assert found.run == "slurm-4700_7.0"


def test_mpirun_makes_one_run_of_all_steps() -> None:
    """Ranks that mpirun starts are one run, although its daemons are a Slurm step on all hosts but the first."""
    first = attribute(files({"SLURM_JOB_ID": "4711", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "16"}))
    other = attribute(files({**SLURM, "OMPI_COMM_WORLD_RANK": "9", "OMPI_COMM_WORLD_SIZE": "16"}))
    assert (first.run, first.rank) == ("slurm-4711", 0)
    assert summary(other) == ("slurm", "slurm-4711", 9, 16)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PBS_JOBID": "77[3].head", "PMI_RANK": "2", "PMI_SIZE": "4"}, ("pbs", "pbs-77[3].head", 2, 4)),
        ({"LSB_JOBID": "88", "LSB_JOBINDEX": "0", "OMPI_COMM_WORLD_RANK": "1"}, ("lsf", "lsf-88", 1, 0)),
        (
            {"LSB_JOBID": "88", "LSB_JOBINDEX": "5", "JSM_NAMESPACE_RANK": "1", "JSM_NAMESPACE_SIZE": "6"},
            ("lsf", "lsf-88[5]", 1, 6),
        ),
        ({"FLUX_JOB_ID": "f2ixK", "FLUX_TASK_RANK": "3", "FLUX_JOB_SIZE": "8"}, ("flux", "flux-f2ixK", 3, 8)),
        ({"JOB_ID": "99", "SGE_TASK_ID": "undefined"}, ("grid_engine", "sge-99", 0, 0)),
        ({"JOB_ID": "99", "SGE_TASK_ID": "4"}, ("grid_engine", "sge-99.4", 0, 0)),
    ],
)
def test_jobs_of_other_schedulers(environment: dict[str, str], expected: tuple[str, str, int, int]) -> None:
    """PBS, LSF, Flux and Grid Engine name their jobs and the elements of arrays; the rank is the launcher's."""
    assert summary(attribute(files(environment))) == expected


def test_a_job_id_of_another_program_is_not_one_of_grid_engine() -> None:
    """JOB_ID alone is too general a name."""
    assert attribute(files({"JOB_ID": "99", "JOB_NAME": "nightly"})) == Attribution("process")


@pytest.mark.parametrize(
    ("environment", "run"),
    [
        ({"PMIX_NAMESPACE": "prterun-n1-812@1"}, "mpi-prterun-n1-812@1"),
        (
            {"PMIX_NAMESPACE": "1234", "OMPI_MCA_orte_hnp_uri": "1232.0;tcp://10.50.0.1,192.168.1.1:40000"},
            "mpi-1234@10.50.0.1:40000",
        ),
        ({"OMPI_MCA_ess_base_jobid": "1234"}, "mpi-1234"),
    ],
)
def test_open_mpi_is_known_by_its_variables(environment: dict[str, str], run: str) -> None:
    """The namespace names the run; the number of older versions is completed by the address of mpirun."""
    ranks = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
    assert summary(attribute(files(environment | ranks))) == ("mpi", run, 1, 2)


def test_a_rank_and_a_size_are_of_one_launcher() -> None:
    """A size of Slurm does not complete a rank of Open MPI."""
    found = attribute(files({**SLURM, "OMPI_COMM_WORLD_RANK": "1"}))
    assert (found.rank, found.world_size) == (1, 0)


@pytest.mark.parametrize(
    ("environment", "run"),
    [
        ({"RAY_JOB_ID": "02000000"}, "ray-n7-02000000"),
        ({"RAY_JOB_ID": "02000000", "RAY_ADDRESS": "127.0.0.1:6379"}, "ray-n7-02000000"),
        ({"RAY_JOB_ID": "02000000", "RAY_ADDRESS": "10.0.0.1:6379"}, "ray-10.0.0.1:6379-02000000"),
        ({"RAY_JOB_ID": "02000000", "RAY_CLUSTER_NAME": "big", "POD_NAMESPACE": "ml"}, "ray-ml:big-02000000"),
    ],
)
def test_ray_jobs_are_known_with_their_cluster(environment: dict[str, str], run: str) -> None:
    """Every Ray cluster counts its jobs from 1, so that the cluster, or else the host, is a part of the name."""
    assert attribute(files(environment, IN_POD), host="n7").run == run


def test_weights_and_biases_names_runs_without_another_name() -> None:
    """Its run id is a label of any run, and the name of a run that has no other one."""
    wandb = {"WANDB_RUN_ID": "3x7", "WANDB_PROJECT": "bert", "WANDB_NAME": "calm-lake-7"}
    alone, in_job = attribute(files(wandb)), attribute(files({**wandb, "PBS_JOBID": "77.head"}))
    assert (alone.source, alone.run, in_job.run) == ("wandb", "wandb-bert:3x7", "pbs-77.head")
    assert alone.labels["wandb_name"] == in_job.labels["wandb_name"] == "calm-lake-7"


def test_users_name_their_run_and_label_it() -> None:
    """FLYBALL_RUN is preferred to a job, and FLYBALL_LABELS adds labels that cannot replace facts."""
    chosen = {"FLYBALL_RUN": "bert-3", "FLYBALL_LABELS": "team=nlp, total_steps=900,=x,y,slurm_job=1"}
    found = attribute(files({**SLURM, **chosen}))
    assert summary(found) == ("environment", "bert-3", 3, 16)
    assert (found.labels["team"], found.labels["total_steps"], found.labels["slurm_job"]) == ("nlp", "900", "4711")
    assert not {"", "y"} & found.labels.keys()


def test_labels_of_the_environment_are_limited() -> None:
    """At most 16 labels are kept, whatever the variable contains."""
    found = attribute(files({"FLYBALL_LABELS": ",".join(f"key{n}={n}" for n in range(400))}))
    assert len(found.labels) == 16


def test_the_job_mapping_names_jobs_without_an_environment() -> None:
    """Without permission for the environment, the job of the GPUs is the run, unless there are several."""
    denied = ProcessFiles(environ=None, cgroup=SESSION)
    one, two = GpuOwners(jobs=("4711",)), GpuOwners(jobs=("4711", "4712"))
    assert summary(attribute(denied, owners=one)) == ("job_mapping", "job-4711", 0, 0)
    assert attribute(denied, owners=two).run == ""
    assert attribute(denied, owners=two).labels["mapped_jobs"] == "4711,4712"


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
    assert summary(found) == ("kubernetes", "pod-ml:train-0", 1, 2)


def test_the_kubelet_names_pods_without_an_environment() -> None:
    """The pod to which the GPU is assigned is the run; of two that share it, the one with the process's host name."""
    train, other = Pod("ml", "bert-worker-1", "main"), Pod("ml", "idle-0", "main")
    denied = ProcessFiles(environ=None, cgroup=IN_POD)
    found = attribute(denied, owners=GpuOwners(pods=(train,)))
    assert (found.source, found.run) == ("kubernetes", "pod-ml:bert")
    assert (found.labels["pod"], found.labels["container_name"]) == ("bert-worker-1", "main")
    both = GpuOwners(pods=(other, train))
    assert attribute(denied, owners=both).run == f"pod-{POD}"
    assert attribute(files({"HOSTNAME": "bert-worker-1"}, IN_POD), owners=both).run == "pod-ml:bert"
    assert attribute(ProcessFiles(environ=None, cgroup=SESSION), owners=GpuOwners(pods=(train,))).run == ""
    outside = files({"RAY_JOB_ID": "01", "RAY_CLUSTER_NAME": "big"})
    assert attribute(outside, owners=GpuOwners(pods=(train,))).run == "ray-big-01"


def test_the_pods_of_a_job_are_one_run() -> None:
    """Pods whose ranks meet at one pod are one run; pods that train alone are not."""
    ranks = {"POD_NAMESPACE": "ml", "MASTER_PORT": "23456", "WORLD_SIZE": "2"}
    job = {**ranks, "MASTER_ADDR": "bert-master-0"}
    first = attribute(files({**job, "POD_NAME": "bert-master-0", "RANK": "0"}, IN_POD))
    second = attribute(files({**job, "POD_NAME": "bert-worker-0", "RANK": "1"}, IN_POD))
    assert first.run == second.run == "pod-ml:bert"
    sweep = {**ranks, "MASTER_ADDR": "localhost", "RANK": "0"}
    assert attribute(files({**sweep, "POD_NAME": "try-0"}, IN_POD)).run == "pod-ml:try-0"
    assert attribute(files({**sweep, "POD_NAME": "try-1"}, IN_POD)).run == "pod-ml:try-1"
    by_address = {**ranks, "MASTER_ADDR": "10.2.0.7", "RANK": "0"}
    assert attribute(files(by_address, IN_POD)).run == "pod-ml:10.2.0.7:23456"


def test_a_pod_name_without_a_pod_is_ignored() -> None:
    """POD_NAME is ignored outside of a pod, because any process can set it."""
    assert attribute(files({"POD_NAME": "train-0"})).source == "process"


@pytest.mark.parametrize(
    ("environment", "run"),
    [
        (TORCHRUN, "torchrun-exp-7@n7"),
        ({**TORCHRUN, "MASTER_ADDR": "n1", "MASTER_PORT": "29500"}, "torchrun-exp-7@n1"),
        (
            {**TORCHRUN, "TORCHELASTIC_RUN_ID": "3f2a9c1e-52d0-4b7e-9c55-0d6b8f4a7e21", "MASTER_ADDR": "localhost"},
            "torchrun-3f2a9c1e-52d0-4b7e-9c55-0d6b8f4a7e21",
        ),
        (
            {**TORCHRUN, "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "n1", "MASTER_PORT": "29500"},
            "torchrun-n1:29500",
        ),
        ({"RANK": "5", "WORLD_SIZE": "32", "MASTER_ADDR": "n1", "MASTER_PORT": "1"}, "torchrun-n1:1"),
        ({"RANK": "5", "WORLD_SIZE": "32", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}, "torchrun-n7:1"),
    ],
)
def test_torchrun_is_known_by_its_variables(environment: dict[str, str], run: str) -> None:
    """A run is identified by where rank 0 is, because ids such as 100 and ports such as 29500 are used again."""
    assert summary(attribute(files(environment), host="n7")) == ("torchrun", run, 5, 32)


def test_runs_in_two_containers_of_a_host_are_two() -> None:
    """A local address is valid in one container only."""
    local = files({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"})
    runs = {
        attribute(replace(local, cgroup=f"0::/docker/{digit * 64}\n".encode()), host="n7").run for digit in ("a", "b")
    }
    assert runs == {"torchrun-n7:aaaaaaaaaaaa:29500", "torchrun-n7:bbbbbbbbbbbb:29500"}


@pytest.mark.parametrize(
    ("path", "run"),
    [
        (f"/system.slice/docker-{HEX}.scope", f"container-{HEX[:12]}"),
        (f"/user.slice/user-1.slice/user@1.service/user.slice/libpod-{HEX}.scope", f"container-{HEX[:12]}"),
        ("/system.slice/train.service", "unit-n7:train.service"),
        ("/user.slice/user-1.slice/user@1.service/app.slice/jupyter.service", "unit-n7:jupyter.service"),
    ],
)
def test_containers_and_units_are_the_last_choice(path: str, run: str) -> None:
    """Without another source, the container or the service is the run."""
    assert summary(attribute(files({}, f"0::{path}\n".encode()), host="n7")) == ("cgroup", run, 0, 0)


@pytest.mark.parametrize("path", ["/", "/user.slice/user-1.slice/session-4.scope", "/system.slice/dcgm.service"])
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
