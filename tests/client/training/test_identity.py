"""Tests of the identity of a process: its launcher's variables, what the caller passes, and labels."""

import pytest

from flyball.training.identity import LAUNCHERS, all_labels, identify, script_name
from flyball_agent.runs.environment import WANTED
from flyball_agent.runs.ranks import _LAUNCHERS


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (0, 1, 0, "")),
        (
            {"RANK": "3", "WORLD_SIZE": "8", "TORCHELASTIC_RESTART_COUNT": "2", "TORCHELASTIC_RUN_ID": "job-7"},
            (3, 8, 2, "job-7"),
        ),
        ({"RANK": "1", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"}, (1, 2, 0, "")),
        (
            {"SLURM_PROCID": "5", "SLURM_NTASKS": "16", "SLURM_JOB_ID": "4711", "SLURM_RESTART_COUNT": "1"},
            (5, 16, 1, "4711"),
        ),
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "SLURM_PROCID": "0"}, (2, 4, 0, "")),
        ({"PMIX_RANK": "3", "PMIX_NAMESPACE": "prterun-1"}, (3, 4, 0, "prterun-1")),
        ({"RAY_JOB_ID": "0200"}, (0, 1, 0, "0200")),
        ({"JOB_COMPLETION_INDEX": "2", "POD_NAME": "train-2"}, (2, 3, 0, "train-2")),
        ({"RANK": "-1", "WORLD_SIZE": "many"}, (0, 1, 0, "")),
        ({"RANK": "99999999999999999999", "WORLD_SIZE": "2"}, (0, 1, 0, "")),
        ({"RANK": "7", "WORLD_SIZE": "2"}, (7, 8, 0, "")),
    ],
)
def test_the_launcher_names_rank_and_size(environment: dict[str, str], expected: tuple[int, int, int, str]) -> None:
    """Rank, size, attempt and group come from the launcher, and a size is never smaller than the ranks seen."""
    found = identify(environment)
    assert (found.rank, found.world_size, found.attempt, found.group) == expected


@pytest.mark.parametrize(
    ("own", "inner", "expected"), [("", "2", 2), ("3", "", 3), ("4", "2", 6), ("x", "1", 1), ("-1", "", 0)]
)
def test_starts_by_flyball_run_and_those_of_a_launcher_are_one_number(own: str, inner: str, expected: int) -> None:
    """It grows with each start of a rank."""
    assert identify({"FLYBALL_ATTEMPT": own, "TORCHELASTIC_RESTART_COUNT": inner}).attempt == expected


def test_the_caller_comes_first() -> None:
    """Valid arguments override the environment, and invalid ones do not."""
    environment = {"RANK": "3", "WORLD_SIZE": "8"}
    assert (identify(environment, 1, 4).rank, identify(environment, 1, 4).world_size) == (1, 4)
    assert (identify(environment, -1, 2.5).rank, identify(environment, -1, 2.5).world_size) == (3, 8)


def test_the_agent_reads_the_same_variables() -> None:
    """Client and agent find the same rank for a process."""
    assert LAUNCHERS == _LAUNCHERS
    assert {name for pair in LAUNCHERS for name in pair if name} <= WANTED


def test_labels_are_cleaned_and_limited() -> None:
    """Labels of the caller override those of the environment; what is not valid is dropped and counted."""
    found, dropped = all_labels({"team": "nlp", "lr": 3e-4}, {"FLYBALL_LABELS": "team=vision,ticket=12,,=x"})
    assert found == {"team": "nlp", "ticket": "12", "lr": "0.0003"}
    assert dropped == 0
    found, dropped = all_labels({"": "x", "none": None, "line": "a\nb", **{f"k{n}": n for n in range(30)}}, {})
    assert found["line"] == "a b"
    assert len(found) == 16
    assert dropped == 2 + 1 + 15


def test_a_run_without_a_name_is_named_by_its_script() -> None:
    """The environment comes first, then the file of the script."""
    assert script_name({"FLYBALL_RUN": "bert-3"}, "/x/train.py") == "bert-3"
    assert script_name({}, "/x/train.py") == "train"
    assert script_name({}, "") == "run"
