"""Stacks of real processes: by the signal that they chose, by py-spy, and always by the kernel."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from flyball_agent.captures import signal_stacks, stacks
from flyball_agent.captures.kernel_threads import read_threads, threads_text
from flyball_agent.captures.order import CaptureFailed, CheckedOrder
from flyball_agent.captures.py_spy import dump, find_py_spy
from flyball_agent.captures.signal_stacks import find_stacks_file, write_and_read
from flyball_agent.captures.stacks import capture_stacks
from flyball_agent.captures.system_calls import system_call

PROC = Path("/proc")

WAITS = """
import sys, threading
{begin}
def waits_for_ever():
    threading.Lock().acquire(); print("ready", flush=True); sys.stdin.read()
waits_for_ever()
"""
ENABLED = "from flyball.captures.stacks_signal import enable; assert enable()"
# A file with the right name, but no handler: the signal would end the process.
ONLY_A_NAME = "import os; kept = os.memfd_create('flyball-stacks-60')"
# A handler that writes nothing.
WRITES_NOTHING = "import os, signal; kept = os.memfd_create('flyball-stacks-60'); signal.signal(60, lambda *_: None)"
OTHER_SIGNAL = "import os; kept = os.memfd_create('flyball-stacks-9')"

Start = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a process that waits for ever, after some code of its own."""
    with ExitStack() as stack:

        def begin(code: str) -> "subprocess.Popen[str]":
            command = [sys.executable, "-c", WAITS.format(begin=code)]
            child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(child)
            stack.callback(child.kill)
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            return child

        yield begin


def order(pid: int, max_bytes: int = 10**6) -> CheckedOrder:
    return CheckedOrder("0" * 16, "stacks", "r", 2, pid, 1, 30, max_bytes)


def test_a_process_writes_its_stacks_on_its_signal(start: Start) -> None:
    """Each dump has the function in which it waits, only once, and the process goes on."""
    child = start(ENABLED)
    folder = PROC / str(child.pid)
    file = find_stacks_file(folder)
    assert file is not None
    assert file.signal not in {signal.SIGUSR1, signal.SIGUSR2}
    for _ in range(3):
        assert write_and_read(file, folder, child.pid).count("in waits_for_ever") == 1
    assert child.poll() is None
    body, note = capture_stacks(order(child.pid), "node-1", PROC)
    assert (note.source, note.detail, note.file_name) == ("signal", "", "stacks.txt")
    assert b"in waits_for_ever" in body


def test_a_process_without_a_handler_is_never_signalled(start: Start) -> None:
    """The default action of the signal would end the training."""
    child = start(ONLY_A_NAME)
    file = find_stacks_file(PROC / str(child.pid))
    assert file is not None
    with pytest.raises(CaptureFailed, match="the process no longer handles signal 60"):
        write_and_read(file, PROC / str(child.pid), child.pid)
    assert child.poll() is None


def test_a_process_that_writes_nothing_is_given_up(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names the signal."""
    monkeypatch.setattr(signal_stacks, "WAIT_SECONDS", 0.3)
    child = start(WRITES_NOTHING)
    file = find_stacks_file(PROC / str(child.pid))
    assert file is not None
    with pytest.raises(CaptureFailed, match=r"wrote no stacks within 0\.3 s of signal 60"):
        write_and_read(file, PROC / str(child.pid), child.pid)


@pytest.mark.parametrize("code", ["", OTHER_SIGNAL])
def test_only_a_real_time_signal_is_one_that_was_chosen(start: Start, code: str) -> None:
    """A process cannot make the agent send it another signal, such as SIGKILL."""
    assert find_stacks_file(PROC / str(start(code).pid)) is None


def test_a_process_that_has_ended_is_a_reason() -> None:
    """There is nothing to capture any more."""
    with pytest.raises(CaptureFailed, match="process 4194305 has ended"):
        capture_stacks(order(2**22 + 1), "node-1", PROC)


@pytest.mark.skipif(find_py_spy() is None, reason="py-spy is not installed")
def test_py_spy_reads_a_process_that_did_nothing_for_it(start: Start) -> None:
    """The text has its function, and not its command line, in which secrets may be."""
    child = start("")
    body, note = capture_stacks(order(child.pid), "node-1", PROC)
    text = body.decode()
    assert note.source == "py-spy"
    assert "waits_for_ever" in text
    assert "import sys, threading" not in text
    assert child.poll() is None


@pytest.mark.skipif(find_py_spy() is None, reason="py-spy is not installed")
def test_another_kind_of_program_has_a_reason() -> None:
    """The kernel's view is still returned."""
    with subprocess.Popen(["sleep", "60"]) as child:
        body, note = capture_stacks(order(child.pid), "node-1", PROC)
        child.kill()
    assert note.source == "kernel"
    assert note.detail.startswith("without Python stacks: py-spy: ")
    assert b"nanosleep" in body


def program(folder: Path, script: str) -> str:
    """Return a program that behaves like a py-spy which fails in some way."""
    path = folder / "py-spy"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


FAILURES = (
    ("exec sleep 60", "py-spy did not end within 0.3 s"),
    (
        "echo 'Error: Permission denied (os error 13)' >&2; exit 1",
        "has no permission for the process; give the agent CAP_SYS_PTRACE",
    ),
    ("echo 'Error: Failed to find python version' >&2; exit 1", "py-spy: Error: Failed to find python version"),
    ("exit 3", "py-spy: exit status 3"),
    ("exit 0", "py-spy: exit status 0"),
)


@pytest.mark.parametrize(("script", "reason"), FAILURES)
def test_a_py_spy_that_fails_has_a_plain_reason(tmp_path: Path, script: str, reason: str) -> None:
    """Its words, or what to do."""
    with pytest.raises(CaptureFailed) as failure:
        dump(program(tmp_path, script), os.getpid(), 0.3)
    assert reason in str(failure.value)


def test_endless_output_is_cut(tmp_path: Path) -> None:
    """A process with endless frames does not fill the agent's memory."""
    text = dump(program(tmp_path, "exec yes 'Python v'"), os.getpid(), 20)
    assert 1_000_000 < len(text) <= 2 * 1024 * 1024


def test_a_missing_py_spy_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    """The text has the kernel's view, and the note names what to install or to set."""
    monkeypatch.setattr(stacks, "find_py_spy", lambda: None)
    body, note = capture_stacks(order(start("").pid), "node-1", PROC)
    assert "py-spy is not installed on this host" in note.detail
    assert "FLYBALL_STACKS=1" in note.detail
    assert b"== Kernel ==" in body
    with pytest.raises(CaptureFailed, match="No such file or directory"):
        dump(str(tmp_path / "none"), os.getpid())


def test_py_spy_is_found_beside_the_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent in a virtual environment finds the one of that environment without a PATH."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert find_py_spy() is None
    found = program(tmp_path, "exit 0")
    assert find_py_spy() == found


def test_the_result_keeps_within_its_limit(start: Start) -> None:
    """A capture of a hundred bytes has a hundred bytes, and its last line ends."""
    body, _ = capture_stacks(order(start("").pid, 100), "node-1", PROC)
    assert len(body) <= 101
    assert body.endswith(b"\n")


def test_threads_of_a_tree_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    """Names may have any characters, files may be missing or denied, and frames lose their addresses."""
    folder = tmp_path / "77"
    for thread, files in (
        (
            "77",
            {
                "comm": "py\x1b[31mthon\n",
                "status": "Name:\tx\nState:\tD (disk sleep)\n",
                "wchan": "nfs_wait",
                "syscall": "0 0x3",
            },
        ),
        ("78", {"comm": "nccl\n", "status": "State:\tR (running)\n", "wchan": "0", "syscall": "running"}),
        ("79", {}),
    ):
        (folder / "task" / thread).mkdir(parents=True)
        for name, content in files.items():
            (folder / "task" / thread / name).write_text(content)
    (folder / "task" / "77" / "stack").write_text("[<0>] nfs_wait+0x1/0x2\n[<0>] vfs_read+0x3/0x4\n")
    (folder / "status").write_text("Threads:\t300\nVmRSS:\t  1024 kB\n")
    threads = read_threads(folder)
    assert [(each.number, each.state, each.waits_in, each.system_call) for each in threads] == [
        (77, "D (disk sleep)", "nfs_wait", system_call("0 0x3")),
        (78, "R (running)", "", "running"),
        (79, "ended", "", ""),
    ]
    assert threads[0].stack == ("nfs_wait+0x1/0x2", "vfs_read+0x3/0x4")
    text = threads_text(folder)
    assert "\x1b" not in text
    assert "VmRSS: 1024 kB" in text
    assert "… and 297 more threads" in text


def test_system_calls_have_names_on_common_machines() -> None:
    """Others keep their number."""
    assert system_call("202 0x7f", "x86_64") == "futex"
    assert system_call("98 0x7f", "aarch64") == "futex"
    assert system_call("202 0x7f", "s390x") == "system call 202"
    assert system_call("-1 0x7ffe 0x7f", "x86_64") == ""
    assert system_call("", "x86_64") == ""


def test_stacks_of_another_users_process_need_a_right(start: Start) -> None:
    """Without it the reason names which, and the kernel's view has what every user may see."""
    if os.geteuid() != 0:
        pytest.skip("only root can run the agent's part as another user")
    child = start("")
    code = (
        "import os, sys; from pathlib import Path\n"
        "from flyball_agent.captures.order import CheckedOrder\n"
        "from flyball_agent.captures.stacks import capture_stacks\n"
        "os.setuid(65534)\n"
        "order = CheckedOrder('0' * 16, 'stacks', 'r', 0, int(sys.argv[1]), 1, 30, 10**6)\n"
        "body, note = capture_stacks(order, 'h', Path('/proc'))\n"
        "print(note.source, note.detail, body.decode())"
    )
    done = subprocess.run([sys.executable, "-c", code, str(child.pid)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("kernel without Python stacks: ")
    assert "waits_for_ever" not in done.stdout
    assert f"{child.pid:>8}  S (sleeping)" in done.stdout
