"""The name of a run that was started without one."""

import pytest

from flyball.hooks.run_name import run_name, script_of

TIME = "20261126-203112"
TORCHRUN = ["torchrun", "--nnodes", "2", "--nproc-per-node=8"]


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python train.py --epochs 3", "train"),
        ("python -u -m my.package.fit x.py", "fit"),
        ("torchrun --nproc-per-node 8 /data/jobs/pre-train.py", "pre-train"),
        ("python -m torch.distributed.run --nproc-per-node 2 train.py", "train"),
        ("accelerate launch sft.py", "sft"),
        ("bash run.sh", "run"),
        ("/opt/bin/trainer --fast", "trainer"),
        ("python -c pass", "python"),
        ("./größe?.py", "gr-e"),
        ("./???.py", "run"),
    ],
)
def test_the_name_begins_with_the_script(command: str, script: str) -> None:
    """The script, the module or the program, in letters that need no quotes."""
    assert script_of(command.split()) == script
    assert run_name(command.split(), {}, TIME) == f"{script}-{TIME}"


@pytest.mark.parametrize(
    ("options", "variables", "expected"),
    [
        ([], {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "16"}, "4711.0"),
        ([], {"SLURM_JOB_ID": "4711", "SLURM_JOB_NUM_NODES": "2"}, "4711"),
        ([], {"SLURM_JOB_ID": "4711", "SLURM_JOB_NUM_NODES": "1", "SLURM_NTASKS": "1"}, TIME),
        ([], {"OMPI_COMM_WORLD_SIZE": "4", "PMIX_NAMESPACE": "prterun-n1-812@1"}, "prterun-n1-812-1"),
        ([], {"FLUX_JOB_SIZE": "4", "FLUX_JOB_ID": "f2ixK"}, "f2ixK"),
        (
            [],
            {"WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "n1", "MASTER_PORT": "29500"},
            "n1.29500",
        ),
        ([], {"WORLD_SIZE": "4", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}, TIME),
        ([*TORCHRUN, "--rdzv-id=a7"], {}, "a7"),
        ([*TORCHRUN, "--rdzv_id", "a7"], {}, "a7"),
        ([*TORCHRUN, "--rdzv-endpoint", "n1:29400"], {}, "n1-29400"),
        ([*TORCHRUN, "--master_addr", "n1"], {}, "n1"),
        (["torchrun", "--nnodes=1:4", "--rdzv-id", "a7"], {}, "a7"),
        (["torchrun", "--nnodes=1", "--rdzv-id", "a7"], {}, TIME),
        (["torchrun", "--rdzv-id", "a7"], {}, TIME),
        (TORCHRUN, {}, TIME),
    ],
)
def test_all_hosts_of_a_job_use_one_name(options: list[str], variables: dict[str, str], expected: str) -> None:
    """The id that the hosts share follows the script, if the job has several; a job on one host is new each time."""
    assert run_name([*options, "train.py"], variables, TIME) == f"train-{expected}"


def test_a_name_fits_the_agent() -> None:
    """The agent accepts at most 200 characters."""
    assert len(run_name(["x" * 300 + ".py"], {"WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "y" * 300}, TIME)) <= 200
