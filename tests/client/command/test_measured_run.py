"""`flyball audit --run`: the facts come from a run of the audited script."""

import subprocess
import sys
from pathlib import Path

import pytest

from flyball.command.measured_run import scripts_of
from tests.client.hooks.reports import FLYBALL, SECONDS, environment


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a script, a package, and a module named torch that does not train."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print('output of the script')\n")
    (tmp_path / "package").mkdir()
    for name in ("fit.py", "__main__.py"):
        (tmp_path / "package" / name).write_text("")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python train.py --lr 1 other.py", ["train.py"]),
        ("torchrun --nproc-per-node 2 ./train.py", ["train.py"]),
        ("python -m package.fit", ["package/fit.py"]),
        ("python -m package", ["package/__main__.py"]),
        ("python -m torch.distributed.run train.py", ["train.py"]),
        ("python -c pass", []),
        ("ls", []),
    ],
)
def test_the_audited_files_are_those_of_the_command(command: str, expected: list[str]) -> None:
    """Scripts and modules that exist."""
    assert [str(path) for path in scripts_of(command.split())] == expected


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([sys.executable, "-c", "pass"], 2, "--run: the command contains no Python file to audit"),
        (["none", "train.py"], 1, "--run: cannot run none: No such file or directory"),
        ([sys.executable, "train.py"], 1, "--run: no steps were measured; the command ended with status 0."),
        (["sh", "-c", "exit 7", "train.py"], 1, "--run: no steps were measured; the command ended with status 7."),
    ],
)
def test_a_command_that_measures_nothing_is_one_clear_line(words: list[str], status: int, message: str) -> None:
    """The output of the command goes to the standard error: the standard output is for the findings."""
    done = subprocess.run(
        [FLYBALL, "audit", "--run", "--", *words],
        capture_output=True, text=True, check=False, timeout=SECONDS, env=environment(),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (status, "")
    assert f"flyball: {message}" in done.stderr
    assert ("output of the script" in done.stderr) == (words[1:] == ["train.py"] and words[0] == sys.executable)
    assert "Traceback" not in done.stderr


def test_run_and_evidence_exclude_each_other() -> None:
    """One measurement is enough."""
    done = subprocess.run(
        [FLYBALL, "audit", "--run", "--evidence", "e.yaml", "--", "python", "train.py"],
        capture_output=True, text=True, check=False, timeout=SECONDS, env=environment(),
    )  # fmt: skip
    assert done.returncode == 2
    assert "--run measures by itself; leave out --evidence" in done.stderr
