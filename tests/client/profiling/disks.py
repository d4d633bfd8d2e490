"""Tests of written bytes need a file system on a disk."""

import subprocess
from pathlib import Path

import pytest


def needs_a_disk(folder: Path) -> None:
    """Skip the test if a folder is in memory: the kernel counts no bytes that are written there."""
    done = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=True)
    if done.stdout.strip() in {"tmpfs", "ramfs"}:
        pytest.skip(f"{folder} is in memory; written bytes need a file system on a disk")
