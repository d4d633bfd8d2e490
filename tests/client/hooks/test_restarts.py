"""`flyball run --max-restarts`: a command that fails is started again, and everything else passes through."""

import fcntl
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from flyball.hooks.restarts import is_stop
from tests.client.hooks.reports import FLYBALL, SECONDS, environment, flyball_run

STATE = "FLYBALL_RESTART_STATE"


def restarted(script: str, *, restarts: int = 2, folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a script of the shell that may be restarted."""
    return flyball_run(["sh", "-c", script], "--max-restarts", str(restarts), cwd=folder)


def lines_of(errors: str) -> list[str]:
    """Return the lines of the standard error, without the duration, which depends on the machine."""
    return re.sub(r"after \d+ s", "after N s", errors).splitlines()


def test_a_failure_is_followed_by_another_start_with_the_next_number(tmp_path: Path) -> None:
    """Until the command ends well. One line for each failure has the reason."""
    done = restarted("echo $FLYBALL_ATTEMPT; test -e ready || { touch ready; exit 3; }", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "0\n1\n")
    assert lines_of(done.stderr) == ["flyball: the command ended with status 3 after N s; restart 1 of 2"]


def test_the_last_failure_is_the_status(tmp_path: Path) -> None:
    """A signal that ended the command ends its launcher, too."""
    done = restarted("echo $FLYBALL_ATTEMPT; exit 7", restarts=1)
    assert (done.returncode, done.stdout) == (7, "0\n1\n")
    assert lines_of(done.stderr)[1:] == ["flyball: the command ended with status 7 after N s; no restart is left"]
    killed = restarted("kill -KILL $$", restarts=1)
    assert killed.returncode == -signal.SIGKILL
    assert lines_of(killed.stderr)[0] == "flyball: the command ended with signal SIGKILL after N s; restart 1 of 1"
    del tmp_path


def test_input_output_and_a_good_end_pass_through() -> None:
    """Nothing is added."""
    done = flyball_run(["sh", "-c", "cat; echo oops >&2"], "--max-restarts", "3", stdin="text\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "text\n", "oops\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_the_command_and_there_is_no_restart(number: signal.Signals) -> None:
    """It was sent to end the training; the command may save first."""
    script = "import os,signal,time;signal.signal({n},lambda *_:exit(5));print(os.getpid(),flush=True);time.sleep(600)"
    with subprocess.Popen(
        [FLYBALL, "run", "--max-restarts", "3", "--", sys.executable, "-c", script.format(n=int(number))],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() != f"{process.pid}\n"
        process.send_signal(number)
        output, errors = process.communicate(timeout=SECONDS)
        assert (process.returncode, output, errors) == (5, "", "")


def test_a_command_that_a_user_ends_directly_is_not_started_again() -> None:
    """By its own process id, or through a shell that reports the signal."""
    done = restarted("kill -TERM $$")
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")
    assert [is_stop(status) for status in (-15, -2, 130, 143, -9, -11, 1, 137)] == [True] * 4 + [False] * 4


def test_other_signals_are_passed_on_without_an_end() -> None:
    """Schedulers ask for a checkpoint with SIGUSR1; a failure after that is still a failure."""
    script = "trap 'echo saved; trap - USR1; exit 4' USR1; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        [FLYBALL, "run", "--max-restarts", "1", "--", "sh", "-c", script],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment(),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for _ in range(2):
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGUSR1)
            assert process.stdout.readline() == "saved\n"
        assert process.wait(SECONDS) == 4


def test_an_ignored_signal_stays_ignored() -> None:
    """As under nohup: it reaches nobody, and a failure after it is followed by a restart."""
    shell = f"trap '' HUP; exec {FLYBALL} run --max-restarts 1 -- sh -c 'echo ready; read line; exit 3'"
    with subprocess.Popen(
        ["sh", "-c", shell],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment(),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(2):
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGHUP)
            process.stdin.write("go on\n")
            process.stdin.flush()
        assert process.wait(SECONDS) == 3


def test_the_command_ends_when_its_launcher_is_killed() -> None:
    """Nobody would supervise it any longer. Its SIGTERM lets it save."""
    script = (
        "import signal,time\nsignal.signal(15, lambda *_: (print('saved', flush=True), exit(0)))\n"
        "print('ready', flush=True)\ntime.sleep(600)"
    )
    with subprocess.Popen(
        [FLYBALL, "run", "--max-restarts", "1", "--", sys.executable, "-c", script],
        stdout=subprocess.PIPE, text=True, env=environment(),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()
        assert process.stdout.read() == "saved\n"


def test_the_size_for_the_next_start_is_kept_between_starts_and_reported(tmp_path: Path) -> None:
    """In a folder that exists while the launcher runs, and that no other run uses."""
    script = (
        f"echo ${STATE}; ls ${STATE}; test -e ready && exit 0; touch ready; "
        f"echo '{{\"micro_batch\": 8}}' > ${STATE}/a.json; exit 1"
    )
    done = restarted(script, folder=tmp_path)
    first, second, kept = done.stdout.split()
    assert (first, kept) == (second, "a.json")
    assert not Path(first).exists()
    assert done.stderr.endswith("restart 1 of 2; it ran out of memory, so the micro-batch begins at 8\n")
    own = flyball_run(["sh", "-c", f"echo ${STATE}"], "--max-restarts", "1", variables={STATE: str(tmp_path)})
    assert own.stdout == f"{tmp_path}\n"
    assert tmp_path.exists()


def test_torchrun_counts_its_own_restarts_in_between(tmp_path: Path) -> None:
    """So that the number of an attempt grows with every start of a rank."""
    torchrun = tmp_path / "torchrun"
    torchrun.write_text("#!/bin/sh\necho $FLYBALL_ATTEMPT\nexit 1\n")
    torchrun.chmod(0o755)
    done = flyball_run([str(torchrun), "--max-restarts=3", "train.py"], "--max-restarts", "2")
    assert done.stdout.split() == ["0", "4", "8"]


def test_a_command_that_cannot_be_started_is_reported_once() -> None:
    """With the statuses of a shell."""
    done = flyball_run(["no-such-command"], "--max-restarts", "3")
    assert (done.returncode, done.stderr) == (127, "flyball: command not found: no-such-command\n")
    done = flyball_run(["/"], "--max-restarts", "3")
    assert (done.returncode, done.stderr) == (126, "flyball: cannot run /: Permission denied\n")


def test_ctrl_c_of_a_terminal_ends_the_command_without_a_restart() -> None:
    """The status is that of the command, which may save first."""
    lines = [
        "import time",
        "try:",
        "    print('ready', flush=True)",
        "    time.sleep(600)",
        "except KeyboardInterrupt:",
    ]
    script = "\n".join([*lines, "    print('saved', flush=True)", "    exit(3)"])
    process, terminal = in_terminal([FLYBALL, "run", "--max-restarts", "3", "--", sys.executable, "-c", script])
    read_until(terminal, b"ready")
    os.write(terminal, b"\x03")
    read_until(terminal, b"saved")
    assert process.wait(SECONDS) == 3
    os.close(terminal)


def test_a_signal_of_the_terminal_is_known_from_one_of_a_process() -> None:
    """The terminal sends it to the command as well. A second one would end a launcher before it has cleaned up."""
    lines = ["import signal", "from flyball.hooks.restarts import next_signal"]
    lines += ["signal.pthread_sigmask(signal.SIG_BLOCK, [2])", "for number in range(2):"]
    script = "\n".join([*lines, "    print('ready', number, flush=True)", "    print(*next_signal([2]), flush=True)"])
    process, terminal = in_terminal([sys.executable, "-c", script])
    read_until(terminal, b"ready 0\r\n")
    os.write(terminal, b"\x03")
    assert b"2 True" in read_until(terminal, b"ready 1\r\n")
    process.send_signal(signal.SIGINT)
    assert b"2 False" in read_until(terminal, b"False")
    assert process.wait(SECONDS) == 0
    os.close(terminal)


def in_terminal(words: list[str]) -> tuple["subprocess.Popen[bytes]", int]:
    """Start a command in a terminal of its own. Return it, and the other end of the terminal."""
    terminal, its_end = pty.openpty()
    process = subprocess.Popen(
        words, stdin=its_end, stdout=its_end, stderr=its_end, env=environment(), start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  it only makes a system call
    )  # fmt: skip
    os.close(its_end)
    return process, terminal


def read_until(terminal: int, text: bytes) -> bytes:
    """Return what a terminal shows until this text; it fails when the command ends before."""
    output = b""
    while text not in output:
        output += os.read(terminal, 1000)
    return output


def test_a_training_that_ran_out_of_memory_begins_with_smaller_slices(tmp_path: Path) -> None:
    """The size is kept by the training and found by its next start, whose attempt is one more. No torch is needed."""
    script = tmp_path / "train.py"
    script.write_text(
        "import flyball\n"
        "run = flyball.run()\n"
        "batch = run.batch(per_rank=16, micro=16, normalised='samples')\n"
        "print(run.attempt, batch.micro, flush=True)\n"
        "def part(samples):\n"
        "    if len(samples) > 4:\n"
        "        raise MemoryError\n"
        "batch.accumulate(part, list(range(16)))\n"
    )
    done = flyball_run([sys.executable, str(script)], "--name", "small", "--max-restarts", "3")
    assert (done.returncode, done.stdout) == (0, "0 16\n1 8\n2 4\n")
    lines = [line for line in done.stderr.splitlines() if line.startswith("flyball: ")]
    assert [line.partition("; it ")[2] for line in lines if "restart" in line] == [
        "ran out of memory, so the micro-batch begins at 8",
        "ran out of memory, so the micro-batch begins at 4",
    ]
    assert (
        "Not repeated: its gradients cannot be removed; pass `model=` or `clear=`. The next start begins with 8."
        in (done.stderr)
    )
