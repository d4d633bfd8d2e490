"""The signal for stacks: free, chosen once, and nothing of the script is touched."""

import subprocess
import sys


def in_a_process(code: str) -> str:
    """Run code in a new process. Return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


SHOW = """
import os, pathlib, signal
from flyball.captures.stacks_signal import enable
def paths():
    found = [path for path in pathlib.Path("/proc/self/fd").iterdir() if os.path.lexists(path)]
    return [path for path in found if "flyball-stacks" in os.readlink(path)]
def files():
    return [os.readlink(path) for path in paths()]
"""


def test_a_free_signal_is_chosen_once() -> None:
    """It is the highest free one; a second call changes nothing, and SIGUSR1 and SIGUSR2 stay the script's."""
    code = f"""{SHOW}
before = [signal.getsignal(n) for n in (signal.SIGUSR1, signal.SIGUSR2)]
assert enable() and enable()
assert [signal.getsignal(n) for n in (signal.SIGUSR1, signal.SIGUSR2)] == before
print(files())
"""
    assert in_a_process(code) == "['/memfd:flyball-stacks-63 (deleted)']\n"


def test_signals_that_somebody_uses_are_left_alone() -> None:
    """Handled, ignored and blocked ones, also those that a C library has taken."""
    code = f"""{SHOW}
signal.signal(63, lambda *_: None)
signal.signal(62, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [61])
import ctypes
ctypes.CDLL(None).signal(60, ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p))
assert enable()
print(files())
"""
    assert in_a_process(code) == "['/memfd:flyball-stacks-59 (deleted)']\n"


def test_without_a_free_signal_nothing_happens() -> None:
    """The training goes on without it."""
    code = f"""{SHOW}
for number in range(signal.SIGRTMIN, signal.SIGRTMAX + 1):
    signal.signal(number, signal.SIG_IGN)
assert not enable()
print(files())
"""
    assert in_a_process(code) == "[]\n"


def test_a_dump_has_all_threads_and_follows_the_last_one() -> None:
    """Threads that hold no lock of Python are in it too; a file that was emptied is written from its beginning."""
    code = f"""{SHOW}
import threading, time
assert enable()
def waits(): time.sleep(60)
threading.Thread(target=waits, daemon=True).start()
(path,) = paths()
os.kill(os.getpid(), 63); os.kill(os.getpid(), 63)
text = path.read_text()
assert text.count("in waits") == 2 and text.count("Current thread") == 2, text
os.truncate(path, 0)
os.kill(os.getpid(), 63)
assert path.read_text().startswith("Thread") or path.read_text().startswith("Current")
print("ok")
"""
    assert in_a_process(code) == "ok\n"


def test_the_file_is_not_inherited_by_programs() -> None:
    """A program that the training starts has nothing of it."""
    code = f"""{SHOW}
import subprocess, sys
assert enable()
(path,) = paths()
show = "import os, sys; print(os.path.lexists(sys.argv[1]))"
command = [sys.executable, "-c", show, str(path)]
print(subprocess.run(command, capture_output=True, text=True, close_fds=False).stdout, end="")
"""
    assert in_a_process(code) == "False\n"


def test_a_run_switches_them_on_by_a_variable_or_a_call() -> None:
    """Without either, no signal is taken."""
    code = f"""{SHOW}
import flyball
with flyball.run("first"):
    assert files() == []
os.environ["FLYBALL_STACKS"] = "1"
with flyball.run("second") as run:
    print(files())
    assert run.enable_stacks()
"""
    assert in_a_process(code) == "['/memfd:flyball-stacks-63 (deleted)']\n"
