"""Tests of `flyball.run`: odd arguments, the socket's path, forks, and what the import costs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import flyball
from flyball.training import agent_socket
from flyball.training.opening import CLIENT
from tests.client.training.listening_socket import ListeningSocket, steps_of

HEAVY = (
    "typing",
    "dataclasses",
    "json",
    "socket",
    "contextlib",
    "collections",
    "enum",
    "re",
    "threading",
    "logging",
    "pathlib",
    "torch",
    "numpy",
)


@pytest.fixture(autouse=True)
def socket_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the agent's socket in the environment."""
    monkeypatch.setenv("FLYBALL_SOCKET", str(tmp_path / "agent.sock"))
    for name in ("FLYBALL_RUN", "FLYBALL_LABELS", "FLYBALL_POLICY", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "agent.sock"


def test_odd_arguments_are_dropped_and_never_raise() -> None:
    """Every argument may be anything."""
    run = flyball.run(
        "\x00bad\n" * 5000,
        total_steps=-3,
        total_samples="many",  # type: ignore[arg-type]
        labels=[1, 2],  # type: ignore[arg-type]
        rank=2.5,  # type: ignore[arg-type]
        world_size=object(),  # type: ignore[arg-type]
        policy=None,  # type: ignore[arg-type]
    )
    assert len(run.name) <= 200
    assert run.name.isprintable()
    assert (run.rank, run.world_size, run.total_steps) == (0, 1, None)
    assert run.dropped >= 4
    run.finish()


@pytest.mark.parametrize("policy", ["Off", "none", "automatic", "", None, 0, ["auto"]])
def test_a_policy_that_is_not_known_is_off(policy: object) -> None:
    """A misspelt policy allows nothing, is counted, and the script is warned; a known one stays."""
    with pytest.warns(UserWarning, match="policy=.*: expected off, ask or auto") as found:
        run = flyball.run("r", policy=policy)  # type: ignore[arg-type]
    assert found[0].filename == __file__
    with run:
        assert (run.policy, run.dropped) == ("off", 1)
    with flyball.run("r", policy="auto") as run:
        assert (run.policy, run.dropped) == ("auto", 0)


@pytest.mark.parametrize(
    ("script", "command", "policy"),
    [("ask", "auto", "auto"), ("auto", "ask", "ask"), ("auto", "off", "off"), ("off", "auto", "off")],
)
def test_the_command_line_replaces_the_policy_of_a_script(
    monkeypatch: pytest.MonkeyPatch, script: str, command: str, policy: str
) -> None:
    """The policy of `flyball run --policy` holds for the run of the script too, unless the script allows nothing."""
    monkeypatch.setenv("FLYBALL_POLICY", command)
    with flyball.run("r", policy=script) as run:
        assert (run.policy, run.dropped) == (policy, 0)


def test_a_policy_of_the_environment_that_is_not_known_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning names the variable, because the script is right."""
    monkeypatch.setenv("FLYBALL_POLICY", "yes")
    with pytest.warns(UserWarning, match="FLYBALL_POLICY=.yes.: expected off, ask or auto"):
        run = flyball.run("r", policy="auto")
    with run:
        assert (run.policy, run.dropped) == ("off", 1)


def test_an_empty_name_becomes_that_of_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name in the environment serves a run without one."""
    monkeypatch.setenv("FLYBALL_RUN", "from-the-environment")
    with flyball.run("") as run:
        assert run.name == "from-the-environment"
        assert run.dropped == 0
    with flyball.run(None) as run:  # an option of a script that was not given
        assert run.name == "from-the-environment"
        assert run.dropped == 0


def test_the_newest_run_is_the_current_one() -> None:
    """A run with the name of an open one replaces it, as when a notebook's cell runs again."""
    before = flyball.current_run()
    first = flyball.run("a")
    second = flyball.run("b")
    assert flyball.current_run() is second
    again = flyball.run("a")
    assert first.finished
    again.finish()
    assert flyball.current_run() is second
    second.finish()
    assert flyball.current_run() is before


def test_the_socket_of_the_environment_is_the_only_candidate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without it, the system's path and then the user's own folder are tried, if nobody else can write there."""
    assert agent_socket.candidates() == [str(tmp_path / "agent.sock")]
    monkeypatch.delenv("FLYBALL_SOCKET")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    own = tmp_path / f"flyball-{os.getuid()}"
    assert agent_socket.candidates() == [agent_socket.SYSTEM_PATH]
    own.mkdir(mode=0o700)
    assert agent_socket.candidates() == [agent_socket.SYSTEM_PATH, str(own / "agent.sock")]
    own.chmod(0o777)
    assert agent_socket.candidates() == [agent_socket.SYSTEM_PATH]
    own.rmdir()
    own.symlink_to(tmp_path)
    assert agent_socket.candidates() == [agent_socket.SYSTEM_PATH]


def test_the_import_loads_no_slow_module() -> None:
    """Importing the package and opening a run loads none of the modules that cost more than the whole budget."""
    code = (
        "import sys; before = set(sys.modules); import flyball; run = flyball.run('a'); run.step(loss=1.0); run.step();"
        "run.finish(); print(' '.join(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    assert "flyball.training.run" in loaded
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]


FORKS = """
import os
import flyball
run = flyball.run("a-run")
child = os.fork()
if child == 0:
    run.step()
    run.step()
    run.finish()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("the child has ended", flush=True)
input()
run.step()
run.finish()
"""


def test_a_forked_child_reports_nothing(socket_path: Path) -> None:
    """The child of a training reports nothing, holds no connection, and does not end its parent's run."""
    with ListeningSocket(socket_path) as agent:
        process = start(FORKS)
        assert process.stdout is not None
        assert process.stdout.readline() == b"the child has ended\n"
        assert [line["kind"] for line in agent.lines()] == ["hello"]
        process.communicate(b"\n", timeout=30)
        assert agent.lines()[-1] == {"kind": "goodbye"}


UNFINISHED = """
import os, sys
import flyball
run = flyball.run("a-run")
for number in range(61):
    run.step(samples=1)
if not os.fork():
    sys.exit()  # a child that ends as a script does
os.wait()
"""


def test_a_script_that_does_not_finish_its_run_reports_its_last_steps(socket_path: Path) -> None:
    """At the end of the process the last report and the goodbye are sent, once, and not by a child."""
    with ListeningSocket(socket_path) as agent:
        start(UNFINISHED).communicate(timeout=30)
        lines = agent.lines()
    assert [line["kind"] for line in lines if line["kind"] != "steps"] == ["hello", "goodbye"]
    assert sum(line["steps"] for line in steps_of(lines)) == 60
    assert lines[-1] == {"kind": "goodbye"}


def start(script: str) -> subprocess.Popen[bytes]:
    """Start a script that finds the package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


DAEMON = """
import os, sys, time
import flyball
run = flyball.run("daemon")
run.step()
parent = os.getpid()
if os.fork():
    os._exit(0)
os.setsid()
while os.getppid() == parent:
    time.sleep(0.01)
for _ in range(2000):
    run.step()
    time.sleep(0.002)
    if run.connected:
        break
run.finish()
os._exit(0)
"""


def test_a_training_that_becomes_a_daemon_goes_on_reporting(socket_path: Path) -> None:
    """After the process that opened the run has ended, its child takes the run over."""
    with ListeningSocket(socket_path) as agent:
        process = start(DAEMON)
        agent.accept()
        process.communicate(timeout=60)
        second = agent.accept()
        data = b""
        while part := second.recv(65536):
            data += part
    kinds = [line.split(b'"')[3] for line in data.splitlines()]
    assert (kinds[0], kinds[-1]) == (b"hello", b"goodbye")
    assert b"steps" in kinds


def test_the_version_is_that_of_the_package() -> None:
    """The constant is the version of the project."""
    project = Path(__file__).parents[3] / "pyproject.toml"
    version = next(line.split('"')[1] for line in project.read_text().splitlines() if line.startswith("version = "))
    assert f"flyball {version}" == CLIENT


def test_steps_reach_a_listening_agent(socket_path: Path) -> None:
    """The two lines of the manual report."""
    with ListeningSocket(socket_path) as agent:
        with flyball.run("manual", total_steps=2) as run:
            for _ in run.data([1, 2]):
                run.step(samples=1)
        assert sum(line["steps"] for line in steps_of(agent.lines())) == 2
