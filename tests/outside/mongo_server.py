"""A MongoDB-compatible server that is not ours: SecantusDB, which keeps its data in WiredTiger as MongoDB does.

MongoDB itself is in none of the package indexes. The server is installed into build/ once, for the tests that use it.
"""

import fcntl
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.processes import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = (
    "secantusdb==0.7.0b3", "shapely==2.2.0", "s2sphere==0.2.5", "python-dateutil==2.9.0.post0", "future==1.0.0",
    "six==1.17.0",
)  # fmt: skip
FOLDER = Path(__file__).parents[2] / "build" / "mongo"
_INSTALL_SECONDS = 120


def server_packages() -> Path:
    """Return the folder of the server's packages; skip the test if they cannot be installed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run of the tests may install at the same time
        mark = FOLDER / "installed"
        if not mark.exists() or mark.read_text().split() != list(PACKAGES):
            _install()
            mark.write_text("\n".join(PACKAGES))
    return FOLDER / "packages"


def _install() -> None:
    command = [
        sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-input", "--no-deps",
        "--no-compile", "--only-binary", ":all:", "--target", str(FOLDER / "packages"), "--upgrade", *PACKAGES,
    ]  # fmt: skip
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"pip did not install {PACKAGES[0]} within {_INSTALL_SECONDS} s")
    if ended.returncode:
        pytest.skip(f"pip could not install {PACKAGES[0]}: {ended.stderr.strip()[-200:]}")


@contextmanager
def running_server(*options: str, keep: bool = False) -> "Iterator[str]":
    """Run a server until the end of the block; yield its host and port. With `keep`, it can write its data first."""
    port = free_port()
    program = "from secantus.cli import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(server_packages())}
    command = [sys.executable, "-c", program, "--port", str(port), *options]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, text=True
    ) as child:
        assert child.stderr is not None
        try:
            line = next((line for line in child.stderr if "listening" in line), "")
            assert line, "the server ended before it listened"
            yield f"127.0.0.1:{port}"
        finally:
            child.terminate() if keep else child.kill()
