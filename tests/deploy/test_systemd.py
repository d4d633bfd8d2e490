import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy" / "systemd"
BINARIES = "/opt/flyball/bin"
NAMES = ("agent", "collector")
LIMITS = {"agent": 2.5, "collector": 1.5}

with_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def unit(name: str) -> Path:
    return UNITS / f"flyball-{name}.service"


def value(name: str, key: str) -> str:
    found = re.search(rf"^{key}=(.*)$", unit(name).read_text(), re.MULTILINE)
    assert found, f"{name} has no {key}"
    return found[1]


@with_systemd
@pytest.mark.parametrize("name", NAMES)
def test_systemd_has_nothing_to_say_against_a_unit(name: str, tmp_path: Path) -> None:
    """`systemd-analyze verify` is silent, with the commands where this environment has them."""
    here = tmp_path / unit(name).name
    here.write_text(unit(name).read_text().replace(BINARIES, str(Path(sys.executable).parent)))
    done = subprocess.run(["systemd-analyze", "verify", str(here)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@with_systemd
@pytest.mark.parametrize("name", NAMES)
def test_a_unit_exposes_little(name: str) -> None:
    """The agent scores at most 2.5 and the collector 1.5, where 10 is everything."""
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit(name))]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    score = re.search(r"Overall exposure level for .*: ([0-9.]+)", said)
    assert score is not None
    assert float(score[1]) <= LIMITS[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_command_of_a_unit_is_one_that_is_installed(name: str) -> None:
    """ExecStart names a script of the package, and one that starts."""
    command = value(name, "ExecStart").split()
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert command == [f"{BINARIES}/flyball-{name}"]
    assert f"flyball-{name}" in scripts
    installed = Path(sys.executable).parent / f"flyball-{name}"
    assert subprocess.run([installed, "--help"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_comes_back_and_is_watched(name: str) -> None:
    """Restarted whatever happens, without ever giving up; a hanging daemon is noticed."""
    assert value(name, "Type") == "notify"
    assert value(name, "Restart") == "always"
    assert value(name, "RestartSec") == "5s"
    assert value(name, "StartLimitIntervalSec") == "0"
    assert value(name, "WatchdogSec") == "30s"
    assert value(name, "ExecReload") == "/bin/kill -HUP $MAINPID"
    assert value(name, "DynamicUser") == "yes"


def test_directories_of_the_units_are_those_of_the_settings() -> None:
    """What systemd makes is what the daemons use by default."""
    from flyball_agent.settings import AgentSettings  # noqa: PLC0415
    from flyball_collector.settings import CollectorSettings  # noqa: PLC0415

    assert AgentSettings().state_directory == f"/var/lib/{value('agent', 'StateDirectory')}"
    assert AgentSettings().socket_path.startswith(f"/run/{value('agent', 'RuntimeDirectory')}/")
    assert f"/var/lib/{value('collector', 'StateDirectory')}/" in CollectorSettings().store.url


@pytest.mark.parametrize("name", NAMES)
def test_the_stop_time_is_longer_than_the_daemon_takes(name: str) -> None:
    """An orderly end is not cut off."""
    assert int(value(name, "TimeoutStopSec").removesuffix("s")) >= {"agent": 10, "collector": 20}[name]
