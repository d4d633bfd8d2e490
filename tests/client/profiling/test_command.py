"""`flyball profile -- COMMAND`: the command runs unchanged, and what it used is reported."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flyball.command import run
from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenarios import make_scenario
from tests.processes import wait_for

FLYBALL = str(Path(sys.executable).parent / "flyball")


def profiled(*command: str, options: Sequence[str] = (), sent: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Run `flyball profile` to its end."""
    return subprocess.run(
        [FLYBALL, "profile", *options, "--", *command], input=sent, capture_output=True, timeout=60, check=False
    )


def document(tmp_path: Path, *command: str) -> Any:
    """Profile a command and return its JSON document."""
    path = tmp_path / "profile.json"
    profiled(*command, options=["--output", str(path), "--interval", "0.05"])
    return json.loads(path.read_text())


@contextmanager
def running(*command: str, options: Sequence[str] = (), **more: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `flyball profile` beside the test."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [FLYBALL, "profile", *options, "--", *command], stdin=pipe, stdout=pipe, stderr=pipe, **more
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def test_output_of_the_command_passes_through_byte_for_byte() -> None:
    """The standard output has nothing of ours, and each byte of the input arrives."""
    data = bytes(range(256)) * 4096
    done = profiled("cat", sent=data)
    assert done.returncode == 0
    assert done.stdout == data
    assert done.stderr.startswith(b"Profile of cat\n")


def test_the_report_names_the_time_the_status_and_the_bottleneck() -> None:
    """A table on the standard error, after what the command wrote there."""
    done = profiled("sh", "-c", "echo before >&2; sleep 0.1; exit 3")
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 3
    assert lines[:2] == ["before", "Profile of sh -c 'echo before >&2; sleep 0.1; exit 3'"]
    rows = dict(re.split("  +", line, maxsplit=1) for line in lines if "  " in line)
    assert {"Time", "Exit status", "Bottleneck", "Command", "Machine", "Written", "cpu", "memory"} <= set(rows)
    assert rows["Exit status"] == "3"
    assert "(confidence" in rows["Bottleneck"]


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        (["no-such-program"], 127, "flyball: there is no program no-such-program"),
        (["/etc/passwd"], 126, "flyball: /etc/passwd is not executable"),
        (["/"], 126, "flyball: / is not executable"),
    ],
)
def test_a_command_that_cannot_start_has_the_status_of_a_shell(command: list[str], status: int, message: str) -> None:
    """One line names what is wrong."""
    done = profiled(*command)
    assert (done.returncode, done.stdout, done.stderr.decode().strip()) == (status, b"", message)


@pytest.mark.parametrize(("script", "status"), [("exit 255", 255), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)])
def test_the_exit_status_is_that_of_the_command(script: str, status: int) -> None:
    """A signal is 128 and its number, as in a shell."""
    assert profiled("sh", "-c", script).returncode == status


def test_a_script_without_an_interpreter_runs_as_in_a_shell(tmp_path: Path) -> None:
    """The kernel refuses it, and shells run it."""
    script = tmp_path / "script"
    script.write_text("echo script $1; exit 4\n")
    script.chmod(0o755)
    done = profiled(str(script), "one")
    assert (done.returncode, done.stdout) == (4, b"script one\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_is_passed_on_to_the_command(number: signal.Signals) -> None:
    """The command decides what to do, and the report follows."""
    script = f"trap 'echo caught; exit 7' {number.name[3:]}; echo ready; while :; do sleep 0.05; done"
    with running("sh", "-c", script) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (7, b"caught\n")
    assert b"Exit status  7" in errors


ON_CTRL_C = """
import os, signal, sys, time
log = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_APPEND)
command = os.getpid()
signal.signal(signal.SIGINT, lambda *_: os.write(log, b"command" if os.getpid() == command else b"child"))
reader, writer = os.pipe()
if os.fork():
    os.setpgid(0, 0)
    os.read(reader, 1)
    print("ready", flush=True)
else:
    os.write(writer, b"1")  # Python forgets signals that arrive before its child is ready
while os.fstat(log).st_size == 0:
    time.sleep(0.01)
time.sleep(0.3)
"""


def test_ctrl_c_of_a_terminal_is_not_passed_on(tmp_path: Path) -> None:
    """The terminal sends it to its group. A command that has left the group does not receive it, as without us."""
    log = tmp_path / "log"
    process, terminal = pty.fork()
    if process == 0:
        os.execv(FLYBALL, [FLYBALL, "profile", "--", sys.executable, "-c", ON_CTRL_C, str(log)])  # noqa: S606
    output = b""
    while b"ready" not in output:
        output += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    while True:  # a terminal that nobody writes to any more is an error
        try:
            output += os.read(terminal, 1000)
        except OSError:
            break
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert log.read_text() == "child"
    assert b"Profile of" in output


def ignored_signals(*command: str) -> int:
    """Return the signals that a command inherits as ignored; 32 and 33 are glibc's own."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1], 16) & 0x7FFFFFFF


def test_an_ignored_signal_remains_ignored() -> None:
    """A command that `nohup` started survives the end of the terminal; Python's own changes are not inherited."""
    reader = "grep SigIgn /proc/self/status"
    assert ignored_signals(FLYBALL, "profile", "--", "sh", "-c", reader) == 0
    command = f"trap '' HUP; exec {FLYBALL} profile -- sh -c '{reader}'"
    assert ignored_signals("sh", "-c", command) == 1 << (signal.SIGHUP - 1)


def test_all_processes_of_the_command_count_each_once(tmp_path: Path) -> None:
    """Children, their children, and one that has left its parent."""
    busy = "import time\nwhile time.process_time() < 0.2: pass\n"
    (tmp_path / "busy.py").write_text(busy)
    one = f"{sys.executable} {tmp_path}/busy.py"
    found = document(tmp_path, "sh", "-c", f"sh -c '{one}; {one}' & (setsid {one} &); {one}; wait; sleep 0.5")
    summary = found["summary"]
    assert 0.8 <= summary["cpu_seconds"] < 1.6
    assert summary["peak_processes"] >= 3
    assert found["processes_left_running"] == 0


def test_a_process_that_the_command_leaves_behind_is_reported_and_lives(tmp_path: Path) -> None:
    """The profile does not wait for it."""
    path, pid_file = tmp_path / "profile.json", tmp_path / "pid"
    script = f"setsid sleep 60 >/dev/null 2>&1 </dev/null & echo $! > {pid_file}"
    try:
        done = profiled("sh", "-c", script, options=["--output", str(path)])
        pid = int(pid_file.read_text())
        assert done.returncode == 0
        assert json.loads(path.read_text())["processes_left_running"] == 1
        assert Path(f"/proc/{pid}/stat").exists()
    finally:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)


def test_a_killed_profile_leaves_the_command_alone(tmp_path: Path) -> None:
    """The training is worth more than its profile."""
    with running("sh", "-c", f"echo $$; sleep 0.3; echo done > {tmp_path}/file") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    wait_for("the command goes on", (tmp_path / "file").exists)


def test_the_files_have_the_profile(tmp_path: Path) -> None:
    """JSON by the suffix, and a page with plots; nothing on the screen but their names."""
    json_file, page = tmp_path / "profile.json", tmp_path / "profile.html"
    options = ["--output", str(json_file), "--page", str(page), "--interval", "0.05"]
    done = profiled("sh", "-c", "sleep 0.3", options=options)
    found = json.loads(json_file.read_text())
    assert (found["schema_version"], found["exit_status"], found["command"]) == (1, 0, ["sh", "-c", "sleep 0.3"])
    assert found["summary"]["duration_seconds"] >= 0.3
    assert len(found["snapshots"]) == found["summary"]["snapshots"] >= 3  # also between the first and the last one
    text = page.read_text()
    assert text.count("<svg") >= 3
    assert "Resident memory of the command" in text
    assert done.stderr.decode().count("Wrote") == 2


def test_odd_arguments_of_the_command_are_shown_safely(tmp_path: Path) -> None:
    """Control characters do not reach the terminal, and bytes that are not UTF-8 do not break the files."""
    odd = os.fsdecode(b"\xff\x1b[31m\n")
    done = profiled("echo", odd)
    assert done.stdout == b"\xff\x1b[31m\n\n"
    assert b"\x1b" not in done.stderr
    assert document(tmp_path, "echo", odd)["command"][1] == "\ufffd\x1b[31m\n"


def test_json_may_go_to_the_standard_error() -> None:
    """The standard output belongs to the command."""
    done = profiled("echo", "hello", options=["--format", "json"])
    assert done.stdout == b"hello\n"
    assert json.loads(done.stderr)["summary"]["sampling_interval"] == 1.0


def test_faults_of_options_are_found_before_the_command_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A training of a day must not end with a profile that cannot be written."""
    ran = tmp_path / "ran"
    for options, message in (
        (["--output", str(tmp_path / "no" / "file.json")], "there is no folder"),
        (["--page", str(tmp_path)], "is a folder"),
        (["--output", str(tmp_path / "file.xyz")], ".xyz is not a known format"),
        (["--interval", "0"], "--interval"),
        (["--interval", "nan"], "--interval nan: expected a finite number"),
        (["--api", "ftp://x"], "--api: 'ftp://x': expected host:port"),
    ):
        assert run(["profile", *options, "--", "touch", str(ran)]) == 2, options
        output = capsys.readouterr()
        assert message in output.err
        assert output.out == ""
    assert not ran.exists()


def test_a_report_that_cannot_be_written_at_last_does_not_hide_the_status(tmp_path: Path) -> None:
    """The folder was removed by the command."""
    folder = tmp_path / "folder"
    folder.mkdir()
    done = profiled("sh", "-c", f"rmdir {folder}; exit 9", options=["--output", str(folder / "p.json")])
    assert done.returncode == 9
    assert b"flyball: cannot write" in done.stderr
    folder.mkdir()
    assert profiled("rmdir", str(folder), options=["--output", str(folder / "p.json")]).returncode == 1


def test_a_pipeline_in_a_shell_works() -> None:
    """The reader that ends early ends the command with SIGPIPE, as without us."""
    done = subprocess.run(
        ["bash", "-c", f"{FLYBALL} profile -- yes 2>/dev/null | head -c 4; echo ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "y\ny\n141\n"


def test_the_round_trips_of_a_service_become_a_score(tmp_path: Path) -> None:
    """`--api` measures it while the command runs."""
    program = (
        "import socket, sys, time\ns = socket.create_server(('127.0.0.1', 0))\n"
        "print(s.getsockname()[1], flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        path = tmp_path / "profile.json"
        options = ["--api", f"127.0.0.1:{port}", "--output", str(path), "--interval", "0.02"]
        profiled("sleep", "0.3", options=options)
        server.communicate("")
    summary = json.loads(path.read_text())["summary"]
    assert 0 < summary["api_latency_ms"] < 1000
    assert summary["base_scores"]["network"] == pytest.approx(min(summary["api_latency_ms"] / 100, 1))


def test_a_driver_that_hangs_delays_neither_the_command_nor_its_end(tmp_path: Path) -> None:
    """The profile has what was read before, and the reason."""
    StandIn(tmp_path, make_scenario("steady", 1).hang("nvmlDeviceGetMemoryInfo", 300))
    started = time.monotonic()
    done = subprocess.run(
        [FLYBALL, "profile", "--", "sh", "-c", "sleep 0.2; exit 5"],
        capture_output=True, timeout=120, check=False, env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 5
    assert time.monotonic() - started < 100
    assert b"last snapshot: no answer of the kernel or a driver within 2 s" in done.stderr


def test_gpu_memory_of_the_machine_is_in_the_report(tmp_path: Path) -> None:
    """Through NVIDIA's library, if there is one."""
    StandIn(tmp_path, make_scenario("steady", 2))
    done = subprocess.run(
        [FLYBALL, "profile", "--format", "json", "--", "sleep", "0.1"],
        capture_output=True, timeout=60, check=True, env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
    )  # fmt: skip
    found = json.loads(done.stderr)
    assert found["summary"]["peak_gpu_memory_mb"] > 100_000
    assert len(found["snapshots"][-1]["gpu_memory_bytes"]) == 2
