"""Tests of the agent's memory footprint: what its process must not import."""

import ctypes
import subprocess
import sys

import pytest

UNWANTED = ("_hashlib", "bz2", "difflib", "email", "http.client", "importlib.metadata", "rich", "ssl")
PROGRAM = f"""
import sys
from flyball_agent import command
from flyball_agent.memory_footprint import import_without_extras

command._parser()
import_without_extras()
import flyball_agent.settings_check, flyball_agent.daemon
import hashlib

print([name for name in {UNWANTED} if name in sys.modules], hashlib.sha256(b"").hexdigest()[:8])
"""


def test_the_daemon_imports_no_large_module_that_it_does_not_need() -> None:
    """The daemon's process has neither OpenSSL nor HTTP, e-mail or terminal modules, and SHA-256 works."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] e3b0c442"


THREADS = """
import threading
from pathlib import Path
from flyball_agent.memory_footprint import use_one_heap

{first}
go_on = threading.Barrier(9)
def allocate():
    kept = bytes(50_000)
    go_on.wait()
    go_on.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads: thread.start()
go_on.wait()
heaps = [line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines() if "---p" in line]
print(sum(int(end, 16) - int(begin, 16) > 2**25 for begin, end in heaps))
go_on.wait()
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="this C library has one heap")
def test_threads_share_a_heap() -> None:
    """The agent has two dozen threads, and each heap of glibc keeps memory that only its own threads can use."""
    reserved = []
    for first in ("", "use_one_heap()"):
        command = [sys.executable, "-c", THREADS.format(first=first)]
        reserved.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert reserved[0] > reserved[1] == 0


def test_what_was_left_out_can_be_imported_later() -> None:
    """TLS can be imported after the daemon's modules, for an https target."""
    later = PROGRAM + "from flyball_agent.probes import http_round_trip\nprint(http_round_trip.ssl.OPENSSL_VERSION)"
    done = subprocess.run([sys.executable, "-c", later], capture_output=True, text=True, check=True)
    assert "OpenSSL" in done.stdout.splitlines()[-1]
