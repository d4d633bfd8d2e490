"""A Python process under `flyball run` starts as it would alone, with two more finders of modules."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flyball.hooks import child_environment, install
from flyball.hooks.site._flyball_after_import import WATCHED
from flyball_audit.evidence import read_evidence
from tests.client.hooks.reports import SECONDS, environment, flyball_run

STATE = """
import json, sys
finders = [getattr(each, "__name__", type(each).__name__) for each in sys.meta_path]
print(json.dumps([sys.path, sorted(sys.modules), sys.argv, finders]))
"""
OURS = ["__future__", "_flyball_after_import"]


def state(text: str) -> tuple[list[str], list[str], list[str], list[str]]:
    path, modules, words, finders = json.loads(text)
    return path, modules, words, finders


def alone(command: list[str], stdin: str | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=True, timeout=SECONDS, env=environment(), cwd=cwd
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("way", ["-c", "stdin", "script", "-m", "-X"])
def test_a_process_looks_the_same(way: str, tmp_path: Path) -> None:
    """Path, modules and arguments are those of a process alone; only the hook and what it needs are loaded."""
    (tmp_path / "state.py").write_text(STATE)
    command, stdin = {
        "-c": ([sys.executable, "-c", STATE, "a", "-b"], None),
        "stdin": ([sys.executable, "-", "a"], STATE),
        "script": ([sys.executable, str(tmp_path / "state.py"), "a"], None),
        "-m": ([sys.executable, "-m", "state", "a"], None),
        "-X": ([sys.executable, "-X", "utf8", "-W", "error", "-c", STATE], None),
    }[way]
    done = flyball_run(command, stdin=stdin, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    expected, found = state(alone(command, stdin, tmp_path)), state(done.stdout)
    assert found[0] == expected[0]
    assert found[2] == expected[2]
    assert sorted(set(found[1]) - set(expected[1])) in ([], OURS[1:], OURS)
    assert set(expected[1]) <= set(found[1])
    assert found[3][1:-1] == expected[3]
    assert (found[3][0], found[3][-1]) == ("AfterImport", "OwnPackage")


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_a_python_that_ignores_its_environment_has_no_hooks(option: str) -> None:
    """It runs as it would alone."""
    done = flyball_run([sys.executable, option, "-c", STATE])
    assert (done.returncode, done.stderr) == (0, "")
    assert not {"AfterImport", "OwnPackage"} & set(state(done.stdout)[3])


def test_the_users_own_customization_still_runs(tmp_path: Path) -> None:
    """Its sitecustomize is loaded under its name, and is found as without us."""
    (tmp_path / "sitecustomize.py").write_text("VALUE = 7\n")
    script = "import sys, sitecustomize; print(sitecustomize.VALUE, sitecustomize.__file__, sys.meta_path[0])"
    done = flyball_run([sys.executable, "-c", script], variables={"PYTHONPATH": str(tmp_path)})
    assert done.stdout.startswith(f"7 {tmp_path}/sitecustomize.py <_flyball_after_import.AfterImport")
    assert done.stderr == ""


def test_errors_in_the_users_customization_are_reported_as_without_us(tmp_path: Path) -> None:
    """Python prints them and goes on, the hooks stay."""
    (tmp_path / "sitecustomize.py").write_text("raise RuntimeError('mine')\n")
    command = [sys.executable, "-c", "import sys; print(len(sys.meta_path))"]
    done = flyball_run(command, variables={"PYTHONPATH": str(tmp_path)})
    expected = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=SECONDS, env=environment(PYTHONPATH=str(tmp_path))
    )
    assert done.stderr == 2 * expected.stderr  # the command `flyball` is a Python process too
    assert "mine" in done.stderr
    assert int(done.stdout) == int(expected.stdout) + 2


def test_children_of_the_command_have_the_hooks_too() -> None:
    """Launchers start the ranks; the variables are passed on, whatever the depth."""
    inner = "import sys; print(sys.meta_path[0])"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    assert "AfterImport" in flyball_run([sys.executable, "-c", outer]).stdout


def test_the_package_is_found_where_it_is_not_installed() -> None:
    """Only the package itself: what lies beside it, such as our other packages, cannot be imported."""
    script = (
        "import sys; sys.path[:] = [each for each in sys.path if 'site-packages' not in each]\n"
        "sys.meta_path[:] = [each for each in sys.meta_path if 'editable' not in repr(each).lower()]\n"
        "import flyball.training.run\nprint(flyball.__file__)\n"
        "try:\n    import flyball_planner\nexcept ImportError:\n    print('not found')\n"
    )
    done = flyball_run([sys.executable, "-S", "-c", f"import site; site.execsitecustomize()\n{script}"])
    package = Path(child_environment.__file__).parents[1]
    assert done.stdout.splitlines() == [str(package / "__init__.py"), "not found"], done.stderr


def test_a_module_of_the_script_with_our_name_comes_first(tmp_path: Path) -> None:
    """Our finder is asked last."""
    (tmp_path / "flyball.py").write_text("MINE = True\n")
    done = flyball_run([sys.executable, "-c", "import flyball; print(flyball.MINE)"], cwd=tmp_path)
    assert done.stdout == "True\n", done.stderr


def test_a_failing_import_of_a_watched_module_has_its_usual_traceback(tmp_path: Path) -> None:
    """Its frames are those of the script, and a second attempt is possible."""
    (tmp_path / "torch.py").write_text("raise ValueError('broken')\n")
    script = "try:\n    import torch\nexcept ValueError:\n    pass\nimport torch\n"
    command = [sys.executable, "-c", script]
    done = flyball_run(command, cwd=tmp_path)
    expected = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=SECONDS, env=environment(), cwd=tmp_path
    )
    assert expected.returncode == done.returncode == 1
    assert done.stderr == expected.stderr


def test_a_module_named_torch_that_is_not_torch_is_left_alone(tmp_path: Path) -> None:
    """The hooks find nothing to hold on to, and the script runs."""
    (tmp_path / "torch.py").write_text("VALUE = 1\n")
    script = "import torch\nprint(torch.VALUE, torch.__spec__.loader.exec_module.__name__, 'torch' in dir())"
    done = flyball_run([sys.executable, "-c", script], cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("1 exec_module True\n", "")


def test_the_watched_modules_are_those_that_have_hooks() -> None:
    """The file that runs at the start cannot import the table, so it repeats the names."""
    assert set(install.HOOKS) == WATCHED


def other_pythons() -> list[str]:
    """Return other versions of Python on this machine."""
    names = ["python2.7", *(f"python3.{minor}" for minor in range(6, 15))]
    folders = sorted(Path.home().glob(".pyenv/versions/*/bin"))
    places = [shutil.which(name) for name in names] + [shutil.which(n, path=str(f)) for f in folders for n in names]
    return sorted({str(Path(place).resolve()) for place in places if place and "shims" not in place})


@pytest.mark.parametrize(
    "python", other_pythons() or [pytest.param("", marks=pytest.mark.skip("no other Python here"))]
)
def test_every_version_of_python_starts(python: str) -> None:
    """A virtual environment may have another Python than ours; an old one runs without the hooks."""
    done = flyball_run([python, "-c", "import sys; print(len(sys.path))"])
    expected = subprocess.run(
        [python, "-c", "import sys; print(len(sys.path))"],
        capture_output=True, text=True, check=True, timeout=SECONDS, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout == expected.stdout


def test_a_script_without_torch_is_measured_if_it_opens_a_run(tmp_path: Path) -> None:
    """Once: the file holds the facts of its first run, and other runs are as without us."""
    (tmp_path / "learn.py").write_text(
        "import flyball\n"
        "for name in ('first', 'second'):\n"
        "    with flyball.run(name) as run:\n"
        "        for item in run.data(range(40)):\n"
        "            with run.call('kato'):\n"
        "                sum(range(20_000))\n"
        "            run.step(samples=2)\n"
    )
    done = flyball_run(
        [sys.executable, "learn.py"], "--measure", "20", cwd=tmp_path, variables={"FLYBALL_SOCKET": "/n"}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = (tmp_path / "flyball-evidence.yaml").read_text()
    assert "steps 7 to 26 of run first" in text
    assert "kato: 0.5 calls for each sample" in text
    assert {"data_wait_ratio", "service_wait_ratio"} <= set(read_evidence(text).facts)
