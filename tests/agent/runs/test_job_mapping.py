"""Tests of the directory in which prologs of HPC schedulers write the jobs of each GPU."""

from pathlib import Path

import pytest

from flyball_agent.runs.job_mapping import JobMappingFailed, read_job_mapping


def write(directory: Path, **files: str) -> None:
    for name, content in files.items():
        (directory / name.removeprefix("gpu").replace("_", ".")).write_text(content)


def test_each_file_lists_the_jobs_of_a_gpu(tmp_path: Path) -> None:
    """A file is named by the GPU's index, each line is a job, and 0 is none."""
    write(tmp_path, gpu0="4711\n", gpu1="4711\n4712\n\n", gpu2="0\n", gpu3="")
    assert read_job_mapping(tmp_path) == {0: ("4711",), 1: ("4711", "4712")}


def test_jobs_of_mig_instances_count_for_their_gpu(tmp_path: Path) -> None:
    """Files such as 2.1 are of instances of GPU 2."""
    write(tmp_path, gpu2_1="4711\n", gpu2_2="4713\n", gpu2_3="0\n")
    assert read_job_mapping(tmp_path) == {2: ("4711", "4713")}


def test_other_content_does_no_harm(tmp_path: Path) -> None:
    """Other names, directories, broken links and bytes that are not text are left out or cleaned."""
    write(tmp_path, README="4711", gpu1_x="4711")
    (tmp_path / "0").mkdir()
    (tmp_path / "1").symlink_to("nowhere")
    (tmp_path / "2").write_bytes(b"47\x1b[31m\xff11\n" * 100_000)
    (jobs,) = read_job_mapping(tmp_path).values()
    assert all(job.isprintable() for job in jobs)
    assert len(jobs) <= 64


def test_a_missing_directory_is_a_fault(tmp_path: Path) -> None:
    """The message names the directory."""
    with pytest.raises(JobMappingFailed, match="nowhere: No such file") as fault:
        read_job_mapping(tmp_path / "nowhere")
    assert not fault.value.denied
