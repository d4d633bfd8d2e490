"""`flyball up` and `flyball demo`."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flyball.command import run
from flyball.command.local_daemons import socket_path
from flyball.command.up import plan_of
from tests.processes import free_port

SECONDS = 120.0


class Up:
    """A running `flyball up` or `flyball demo`."""

    def __init__(self, directory: Path, *words: str, blocks_link: bool = False) -> None:
        self.directory = directory
        self.port = free_port()
        self.out = directory.with_suffix(".out")
        ports = ["--port-grpc", str(free_port()), "--port-http", str(self.port)]
        command = [sys.executable, "-m", "flyball", *words, "--directory", str(directory), *ports]
        self.temporary = Path(f"{directory}-temporary")  # another `flyball up` of this user may have its link
        self.temporary.mkdir()
        if blocks_link:
            self.link.parent.write_text("")
        environment = {**os.environ, "COLUMNS": "200", "TMPDIR": str(self.temporary)}
        with self.out.open("wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)

    @property
    def link(self) -> Path:
        """The link by which trainings of this user find the agent."""
        return self.temporary / f"flyball-{os.getuid()}" / "agent.sock"

    def output(self) -> str:
        return self.out.read_text(errors="replace")

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
            return json.load(answer)

    def connected(self) -> list[bool]:
        """Return for each host if it is connected; an empty list while the collector does not answer."""
        try:
            return [each["connected"] for each in self.get("/api/v1/hosts")["hosts"]]
        except (OSError, http.client.HTTPException):  # it was killed, perhaps in the middle of an answer
            return []

    def until(self, check: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not check():
            assert time.monotonic() < deadline, self.output()
            assert self.process.poll() is None, self.output()
            time.sleep(0.1)


@contextmanager
def running(directory: Path, *words: str) -> Iterator[Up]:
    up = Up(directory, *words)
    try:
        up.until(lambda: "Press Ctrl-C to stop" in up.output())
        yield up
    finally:
        up.process.kill()
        up.process.wait()


def test_one_command_watches_this_machine_and_ends_in_order(tmp_path: Path) -> None:
    """The first screen follows the first record; killed daemons are restarted; Ctrl-C ends all with status 0."""
    with running(tmp_path / "home", "up", "--adjust") as up:
        assert "is watched every second" in up.output()
        assert f"http://127.0.0.1:{up.port}/metrics" in up.output()
        assert 'import flyball; run = flyball.run("NAME")' in up.output()
        with socket.socket(socket.AF_UNIX) as training:
            training.connect(str(up.link))
        (host,) = up.get("/api/v1/hosts")["hosts"]
        assert host["connected"]
        up.until(lambda: "adjustments_connected" in (up.directory / "agent.log").read_text())
        agent = pids_of(up.directory)["agent"]
        os.kill(agent, signal.SIGKILL)
        up.until(lambda: "agent has been restarted" in up.output())
        assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \w+ agent ended with", up.output(), re.MULTILINE)
        children = pids_of(up.directory)
        assert children["agent"] != agent
        os.kill(children["collector"], signal.SIGKILL)
        up.until(lambda: "collector has been restarted" in up.output())
        up.until(lambda: up.connected() == [True])
        children = pids_of(up.directory)
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(60) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in children.values())
        assert not os.path.lexists(up.link)
    assert "Traceback" not in up.output()
    for log in ("agent.log", "collector.log"):
        assert "Traceback" not in (tmp_path / "home" / log).read_text()


@pytest.mark.parametrize(("adjust", "text"), [(True, "true"), (False, "false")])
def test_adjustments_are_allowed_on_both_sides_or_on_none(adjust: bool, text: str) -> None:
    """The option sets the same in the settings of the collector and of the agent."""
    plan = plan_of(Path("somewhere"), 3590, 3591, adjust=adjust)
    allowed = {"adjustments.enabled": text}
    assert plan.collector == allowed
    assert [agent.settings for agent in plan.agents] == [allowed]


def pids_of(directory: Path) -> dict[str, int]:
    """Return the process ids of the daemons that use this directory, by name."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        config = re.search(rf"{re.escape(str(directory))}/(agent|collector)\.toml", "\0".join(words))
        if config and words[1:3] == ["-m", "flyball"]:
            found[config[1]] = int(path.parent.name)
    return found


def adjustable(up: Up, run: str) -> set[str]:
    """Return the names of the values that a run can change; none before the run has declared any."""
    try:
        return {each["name"] for each in up.get(f"/api/v1/values?run={run}")["values"]}
    except OSError as error:
        if getattr(error, "code", 404) != 404:  # another answer of the collector than that it does not know the run
            raise
        return set()


@pytest.mark.skipif(shutil.which("cc") is None, reason="the stand-in GPU needs a C compiler")
def test_the_demonstration_shows_simulated_gpus(tmp_path: Path) -> None:
    """Each host has GPUs with readings, which the output marks as simulated, and a training that can be adjusted."""
    with running(tmp_path / "home", "demo", "--gpus", "2", "--hosts", "2", "--scenario", "govern") as demo:
        assert "2 × NVIDIA H100" in demo.output()
        assert "These GPUs are simulated" in demo.output()
        assert "All other readings are real" in demo.output()
        hosts = demo.get("/api/v1/hosts")["hosts"]
        assert [(host["name"], host["gpus"]) for host in hosts] == [("demo-01", 2), ("demo-02", 2)]
        latest = demo.get("/api/v1/hosts/demo-01/latest?metric=gpu_power_watts")
        assert len(latest["readings"]) == 2
        assert "The run `learner-demo-01` waits for a service" in demo.output()
        demo.until(lambda: {"calls_per_batch", "pool", "workers"} <= adjustable(demo, "learner-demo-01"))
        demo.process.send_signal(signal.SIGTERM)
        assert demo.process.wait(60) == 0


def test_the_screen_names_what_to_set_if_trainings_cannot_find_the_agent(tmp_path: Path) -> None:
    """The folder of the link is a file here: everything else works, and the screen has the variable to set."""
    home = tmp_path / "home"
    up = Up(home, "up", blocks_link=True)
    try:
        up.until(lambda: "Press Ctrl-C to stop" in up.output())
        assert f"{up.link.parent} is not a folder; remove it" in up.output()
        assert f"export FLYBALL_SOCKET={home / 'agent' / 'agent.sock'}\n" in up.output()
    finally:
        up.process.kill()
        up.process.wait()


def test_a_port_in_use_is_an_error_with_a_free_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message has the port and the option that selects another one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ["--directory", str(tmp_path), "--port-http", str(port), "--port-grpc", str(free_port())]
        assert run(["up", *words]) == 1
    errors = capsys.readouterr().err
    assert f"port {port}" in errors
    assert "--port-http" in errors
    assert "--port-grpc" not in errors


def test_all_ports_in_use_are_reported_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a command that uses free ones."""
    with socket.create_server(("127.0.0.1", 0)) as grpc, socket.create_server(("127.0.0.1", 0)) as http:
        ports = [str(each.getsockname()[1]) for each in (grpc, http)]
        assert run(["up", "--directory", str(tmp_path), "--port-grpc", ports[0], "--port-http", ports[1]]) == 1
    errors = capsys.readouterr().err
    assert all(f"port {port} of 127.0.0.1" in errors for port in ports)
    assert re.search(r"flyball up --port-grpc \d+ --port-http \d+", errors)


def test_wrong_settings_end_the_command_with_the_message_of_the_daemon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The end of the log is printed."""
    (tmp_path / "collector.toml").write_text("nonsense = 1\n")
    words = ["--directory", str(tmp_path), "--port-http", str(free_port()), "--port-grpc", str(free_port())]
    assert run(["up", *words]) == 1
    assert "there is no setting 'nonsense'" in capsys.readouterr().err


def test_an_unknown_scenario_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It lists the known ones, before anything is started."""
    assert run(["demo", "--scenario", "calm", "--directory", str(tmp_path)]) == 2
    assert "expected one of steady" in capsys.readouterr().err


def test_a_socket_path_is_never_longer_than_the_kernel_allows(tmp_path: Path) -> None:
    """The socket of a deep directory is in the temporary folder."""
    assert socket_path(Path("/a")) == Path("/a/agent.sock")
    deep = tmp_path / ("x" * 120)
    assert len(os.fsencode(socket_path(deep))) <= 100
    assert socket_path(deep) == socket_path(deep)
