"""Installs gRPC's library for Node.js into build/, once, for the tests that use it."""

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGES = ("@grpc/grpc-js@1.14.7", "@grpc/proto-loader@0.8.1")
FOLDER = Path(__file__).parents[2] / "build" / "node"
_INSTALL_SECONDS = 120


def node_packages() -> Path:
    """Return the folder that contains node_modules; skip the test if it cannot be made."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run of the tests may install at the same time
        if not _installed():
            _install()
    return FOLDER


def _installed() -> bool:
    """Return True if exactly these versions were installed completely."""
    mark = FOLDER / "installed"
    return mark.exists() and mark.read_text().split() == list(PACKAGES)


def _install() -> None:
    (FOLDER / "package.json").write_text('{"private": true}')
    options = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(FOLDER))
    command = ["npm", "install", *options, *PACKAGES]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not install {PACKAGES[0]} within {_INSTALL_SECONDS} s")
    if ended.returncode:
        pytest.skip(f"npm could not install {PACKAGES[0]}: {ended.stderr.strip()[-200:]}")
    (FOLDER / "installed").write_text("\n".join(PACKAGES))
