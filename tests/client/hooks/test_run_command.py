"""`flyball run` becomes the command: output, input, signals and exit status are those of the command."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flyball.hooks.run_command import build_parser, split
from tests.client.hooks.reports import FLYBALL, SECONDS, environment, flyball_run
from tests.client.test_main import RUN_MAIN, python


@pytest.mark.parametrize(
    ("words", "own", "command"),
    [
        ("--name a -- ls -l", "--name a", "ls -l"),
        ("--name a ls -- -l", "--name a", "ls -- -l"),
        ("--label a=b --measure=5 python x.py --name b", "--label a=b --measure=5", "python x.py --name b"),
        ("--name -- x", "--name", "x"),
        ("--help", "--help", ""),
        ("", "", ""),
    ],
)
def test_the_command_begins_behind_the_dashes_or_with_the_first_word(words: str, own: str, command: str) -> None:
    """Options behind it belong to the command."""
    assert split(words.split()) == (own.split(), command.split())


@pytest.mark.parametrize("status", [0, 1, 2, 130, 255])
def test_the_exit_status_is_the_commands(status: int) -> None:
    """Whatever it means."""
    assert flyball_run(["sh", "-c", f"exit {status}"]).returncode == status


def test_bytes_pass_unchanged_in_both_directions() -> None:
    """Input that is not text arrives, and nothing is added to either output."""
    data = bytes(range(256)) * 1000
    done = subprocess.run(
        [FLYBALL, "run", "--", "sh", "-c", "cat; printf oops >&2"],
        input=data, capture_output=True, check=True, timeout=SECONDS, env=environment(),
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (data, b"oops")


def test_the_command_is_the_same_process_with_its_arguments() -> None:
    """Signals reach it without a process in between, and arguments arrive as they were given."""
    words = ["a b", "", "*", "-h", "--name", "ä\n"]
    script = "import os,sys; print(os.getpid(), sys.argv[1:])"
    with subprocess.Popen(
        [FLYBALL, "run", "--name", "x", "--", sys.executable, "-c", script, *words],
        stdout=subprocess.PIPE, text=True, env=environment(),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.read() == f"{process.pid} {words}\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_signal_ends_the_command(number: signal.Signals) -> None:
    """The parent sees the signal as the reason."""
    with subprocess.Popen(
        [FLYBALL, "run", "--", "sh", "-c", "echo ready; exec sleep 600"], stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.wait(SECONDS) == -number


def test_ctrl_c_is_handled_by_the_command() -> None:
    """A Python script sees KeyboardInterrupt, and prints what it would print without us."""
    lines = [
        "import time",
        "try:",
        "    print('ready', flush=True)",
        "    time.sleep(600)",
        "except KeyboardInterrupt:",
    ]
    script = "\n".join([*lines, "    print('saved')"])
    with subprocess.Popen(
        [FLYBALL, "run", "--", sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "saved\n"
        assert process.wait(SECONDS) == 0


def test_signals_and_locale_are_as_if_the_shell_had_started_the_command() -> None:
    """Python ignores SIGPIPE and sets LC_CTYPE for itself; the command inherits neither."""
    script = "grep SigIgn /proc/self/status; echo locale=$LC_CTYPE"
    bare = {name: value for name, value in environment().items() if not name.startswith(("LC_", "LANG"))}
    outputs = [
        subprocess.run([*words, "sh", "-c", script], capture_output=True, check=True, timeout=SECONDS, env=bare).stdout
        for words in ([], [FLYBALL, "run", "--"])
    ]
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 2, "missing argument -- COMMAND. See `flyball run --help`."),
        (["--nmae", "x", "--", "ls"], 2, "no such option: --nmae; did you mean '--name'? See"),
        (["--name", "", "--", "ls"], 2, "--name expected 1 to 200 printable characters. See"),
        (["--name", "--", "ls"], 2, "--name needs a value. See"),
        (["--label", "a", "--", "ls"], 2, "--label a: expected KEY=VALUE. See"),
        (["--label", "a=b,c", "--", "ls"], 2, "--label a=b,c: a label has no commas and no control characters. See"),
        ([*(["--label", "a=b"] * 17), "ls"], 2, "--label: at most 16 labels, not 17. See"),
        (["--measure", "0", "--", "ls"], 2, "--measure 0: expected a whole number of at least 1. See"),
        (["--evidence", "e", "--", "ls"], 2, "--evidence needs --measure. See"),
        (["--measure", "5", "--evidence", "/none/e", "--", "ls"], 2, "--evidence /none/e: no such folder. See"),
        (["--measure", "5", "--evidence", "/", "--", "ls"], 2, "--evidence /: is a folder; name a file. See"),
        (["--", "no-such-command"], 127, "command not found: no-such-command"),
        (["--", "/"], 126, "cannot run /: Permission denied"),
    ],
)
def test_a_wrong_command_line_is_one_clear_line(words: list[str], status: int, message: str) -> None:
    """With the status that a shell or the other commands use, and nothing on the standard output."""
    done = subprocess.run(
        [FLYBALL, "run", *words], capture_output=True, text=True, check=False, timeout=SECONDS, env=environment()
    )
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(f"flyball: {message}")
    assert done.stderr.count("\n") == 1


def test_a_script_alone_is_not_a_command(tmp_path: Path) -> None:
    """Of `flyball run -- train.py` the message has the command that works."""
    (tmp_path / "train.py").write_text("")
    done = subprocess.run(
        [FLYBALL, "run", "--", "train.py"], capture_output=True, text=True, check=False, cwd=tmp_path,
        timeout=SECONDS, env=environment(),
    )  # fmt: skip
    assert done.returncode == 127
    assert done.stderr.endswith("train.py. Start it with its interpreter: flyball run -- python train.py\n")


def test_it_needs_no_package() -> None:
    """The environment of a training may have neither typer nor anything else that the other commands need."""
    script = "import os; print(os.environ['FLYBALL_RUN'])"
    done = python((), RUN_MAIN, "run", "--name", "bare", "--", sys.executable, "-c", script)
    assert (done.returncode, done.stdout) == (0, "bare\n"), done.stderr


def test_the_name_is_chosen_in_order() -> None:
    """The option, the variable, and then the script with the time; it is new for each start."""
    show = ["sh", "-c", "echo $FLYBALL_RUN $FLYBALL_LABELS"]
    assert flyball_run(show, "--name", "a", "--label", "x=1", variables={"FLYBALL_RUN": "b"}).stdout == "a x=1\n"
    assert flyball_run(show, variables={"FLYBALL_RUN": "b"}).stdout == "b\n"
    before = time.strftime("%Y%m%d")
    names = [flyball_run(show).stdout for _ in range(2)]
    assert names[0] != names[1]
    found = re.fullmatch(r"sh-(\d{8})-\d{6}-[0-9a-f]{4}\n", names[0])
    assert found is not None
    assert before <= found[1] <= time.strftime("%Y%m%d")


def test_the_help_names_every_option() -> None:
    """Each has a meaning."""
    assert all(action.help for action in build_parser()._actions)


def test_the_evidence_file_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    """The command may change its folder before the file is written."""
    show = ["sh", "-c", "echo $FLYBALL_MEASURE $FLYBALL_EVIDENCE"]
    done = flyball_run(show, "--measure", "5", "--evidence", "e.yaml", cwd=tmp_path)
    assert done.stdout == f"5 {os.path.realpath(tmp_path)}/e.yaml\n"
