"""Test the systemd units and the settings in deploy/fleet: they are valid, restricted, and fit the daemons."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from flyball_agent.settings import AgentSettings
from flyball_collector.settings import CollectorSettings
from flyball_daemon.settings import load

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy" / "systemd"
FLEET = ROOT / "deploy" / "fleet"
BINARIES = "/opt/flyball/bin"
NAMES = ("agent", "collector")
LIMITS = {"agent": 2.5, "collector": 1.5}

with_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def unit(name: str) -> Path:
    """Return the unit file of a daemon."""
    return UNITS / f"flyball-{name}.service"


def value(name: str, key: str) -> str:
    """Return the value of a key of a unit."""
    found = re.search(rf"^{key}=(.*)$", unit(name).read_text(), re.MULTILINE)
    assert found, f"{name} has no {key}"
    return found[1]


@with_systemd
@pytest.mark.parametrize("name", NAMES)
def test_systemd_accepts_a_unit_without_warnings(name: str, tmp_path: Path) -> None:
    """`systemd-analyze verify` prints nothing when the command is where this environment has it."""
    here = tmp_path / unit(name).name
    here.write_text(unit(name).read_text().replace(BINARIES, str(Path(sys.executable).parent)))
    done = subprocess.run(["systemd-analyze", "verify", str(here)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@with_systemd
@pytest.mark.parametrize("name", NAMES)
def test_a_unit_is_restricted(name: str) -> None:
    """The exposure of the agent is at most 2.5 and that of the collector at most 1.5, where 10 is fully open."""
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit(name))]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    score = re.search(r"Overall exposure level for .*: ([0-9.]+)", output)
    assert score is not None
    assert float(score[1]) <= LIMITS[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_command_of_a_unit_is_installed_by_the_package(name: str) -> None:
    """ExecStart names a script of the package, and the script starts."""
    command = value(name, "ExecStart").split()
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert command == [f"{BINARIES}/flyball-{name}"]
    assert f"flyball-{name}" in scripts
    installed = Path(sys.executable).parent / f"flyball-{name}"
    assert subprocess.run([installed, "--help"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_restarts_and_has_a_watchdog(name: str) -> None:
    """systemd restarts a daemon after any failure, without ever giving up, and also if it hangs."""
    assert value(name, "Type") == "notify"
    assert value(name, "Restart") == "always"
    assert value(name, "RestartSec") == "5s"
    assert value(name, "StartLimitIntervalSec") == "0"
    assert value(name, "WatchdogSec") == "30s"
    assert value(name, "ExecReload") == "/bin/kill -HUP $MAINPID"
    assert value(name, "DynamicUser") == "yes"


def test_the_units_create_the_directories_of_the_settings() -> None:
    """The directories that systemd creates are the defaults of the daemons."""
    assert AgentSettings().state_directory == f"/var/lib/{value('agent', 'StateDirectory')}"
    assert AgentSettings().socket_path.startswith(f"/run/{value('agent', 'RuntimeDirectory')}/")
    assert f"/var/lib/{value('collector', 'StateDirectory')}/" in CollectorSettings().store.url


@pytest.mark.parametrize("name", NAMES)
def test_the_stop_timeout_is_longer_than_the_daemon_takes(name: str) -> None:
    """systemd does not kill a daemon that stops in order."""
    assert int(value(name, "TimeoutStopSec").removesuffix("s")) >= {"agent": 10, "collector": 20}[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_passes_the_private_key_as_a_credential(name: str) -> None:
    """The settings for a fleet read the key where the unit puts it; a host without a key still starts."""
    credential, source = value(name, "LoadCredential").split(":")
    assert source == f"/etc/flyball/{name}.key"
    assert value(name, "SetCredential").partition(":")[0] == credential
    assert f'"/run/credentials/flyball-{name}.service/{credential}"' in (FLEET / f"{name}.toml").read_text()


def test_the_settings_for_a_fleet_are_valid() -> None:
    """The files in deploy/fleet have certificates and tokens, so that listening beyond the loopback is allowed."""
    agent = load(AgentSettings, file=FLEET / "agent.toml").settings
    assert all((agent.tls.ca_file, agent.tls.certificate_file, agent.tls.key_file))
    collector = load(CollectorSettings, file=FLEET / "collector.toml").settings
    assert not collector.insecure
    assert all((collector.grpc.ca_file, collector.grpc.certificate_file, collector.http.tokens_file))
    ports = [address.rpartition(":")[2] for address in (collector.grpc.listen, collector.http.listen)]
    defaults = CollectorSettings()
    assert ports == [address.rpartition(":")[2] for address in (defaults.grpc.listen, defaults.http.listen)]
