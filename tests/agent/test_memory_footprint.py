"""Tests of the agent's memory footprint: what its process must not import."""

import subprocess
import sys

UNWANTED = ("_hashlib", "email", "http.client", "importlib.metadata", "rich", "ssl")
PROGRAM = f"""
import sys
from flyball_agent import command
from flyball_agent.memory_footprint import import_without_extras

import_without_extras()
import flyball_agent.settings_check, flyball_agent.daemon
import hashlib

print([name for name in {UNWANTED} if name in sys.modules], hashlib.sha256(b"").hexdigest()[:8])
"""


def test_the_daemon_imports_no_large_module_that_it_does_not_need() -> None:
    """The daemon's process has neither OpenSSL nor HTTP, e-mail or terminal modules, and SHA-256 works."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] e3b0c442"


def test_what_was_left_out_can_be_imported_later() -> None:
    """TLS can be imported after the daemon's modules, for an https target."""
    later = PROGRAM + "from flyball_agent.probes import http_round_trip\nprint(http_round_trip.ssl.OPENSSL_VERSION)"
    done = subprocess.run([sys.executable, "-c", later], capture_output=True, text=True, check=True)
    assert "OpenSSL" in done.stdout.splitlines()[-1]
