"""The entry point `flyball`, and hosts with only a part of the packages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flyball.__main__ import main
from flyball.extras import NEEDS, advice, missing

# Rejects the import of every package that is not listed, as on a host that has only some of them.
BLOCKER = """
import importlib.machinery, sys

ALLOWED = set({allowed!r})

class Refuse(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        found = super().find_spec(name, path, target)
        place = str(getattr(found, "origin", None) or (list(found.submodule_search_locations or []) if found else ""))
        if found is not None and "site-packages" in place and name.split(".")[0] not in ALLOWED:
            return None
        return found

sys.meta_path = [each for each in sys.meta_path if each is not importlib.machinery.PathFinder] + [Refuse]
"""

# The modules of the packages of the extra `agent`, with their own dependencies.
AGENT = ("google", "grpc", "msgspec", "psutil", "pynvml", "structlog", "typing_extensions")


def python(allowed: tuple[str, ...], program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    code = BLOCKER.format(allowed=allowed) + program
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


RUN_MAIN = "import sys\nfrom flyball.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"


def test_the_agent_starts_with_only_its_extras_packages(tmp_path: Path) -> None:
    """Typer, Rich, NumPy and the packages of the collector are not needed."""
    options = ["--once", "--format", "json", "--set", f"state_directory={tmp_path}"]
    done = python(AGENT, RUN_MAIN, "agent", *options)
    assert done.returncode == 0, done.stderr
    read = {reading["metric"] for probe in json.loads(done.stdout)["probes"] for reading in probe["readings"]}
    assert "cpu_busy_ratio" in read


def test_all_modules_of_the_agent_need_only_its_extras_packages() -> None:
    """Including those of the uplink."""
    done = python(AGENT, "import flyball_agent.daemon\nprint('numpy' in sys.modules)\n")
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


@pytest.mark.parametrize(
    ("words", "extra"), [(["agent"], "agent"), (["collector"], "collector"), (["up"], "planner"), ([], "planner")]
)
def test_a_missing_package_is_reported_with_its_extra(words: list[str], extra: str) -> None:
    """The message has the command that installs it, without a traceback."""
    done = python((), RUN_MAIN, *words)
    assert done.returncode == 2
    assert f"pip install 'flyball-fleet[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_daemons_have_their_own_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """`flyball agent …` is the same as `flyball-agent …`."""
    for daemon in ("agent", "collector"):
        with pytest.raises(SystemExit) as ended:
            main([daemon, "--help"])
        assert ended.value.code == 0
        assert f"flyball-{daemon}" in capsys.readouterr().out


def test_nothing_is_missing_here() -> None:
    """The extras install all listed packages."""
    assert {part: missing(part) for part in NEEDS} == {part: [] for part in NEEDS}
    assert "no.such" in advice("flyball up", "all", ["no.such"])


@pytest.mark.parametrize(
    ("place", "words"), [("flyball.command.run", ["hosts"]), ("flyball_agent.command.main", ["agent", "--once"])]
)
def test_ctrl_c_has_a_status_and_no_traceback(place: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while modules are imported, before a command could handle it."""

    def interrupt(_arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupt)
    assert main(words) == 130
