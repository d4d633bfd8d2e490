"""Runs programs of others against the collector."""

import os
import select
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import pytest

_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a program. One that hangs fails the test."""

    status: int
    output: str  # with standard error


def needs(program: str) -> None:
    """Skip the test if a program is missing. `make test` installs it as root on Debian."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed (tests/system-packages installs it)")


def run(command: Sequence[object], *, sent: bytes = b"") -> Ended:
    """Run a program to its end."""
    ended = subprocess.run(
        list(map(str, command)),
        input=sent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_SECONDS,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode(errors="replace"))


class Interactive:
    """A program that a test talks to while it runs."""

    def __init__(self, command: Sequence[object]) -> None:
        pipe, both = subprocess.PIPE, subprocess.STDOUT
        self._child = subprocess.Popen(list(map(str, command)), stdin=pipe, stdout=pipe, stderr=both)
        self._output = b""

    def send(self, data: bytes) -> None:
        """Write to its standard input."""
        assert self._child.stdin is not None
        self._child.stdin.write(data)
        self._child.stdin.flush()

    def wait(self, text: str) -> None:
        """Read its output until it contains a text; fail if it ends or hangs before."""
        assert self._child.stdout is not None
        while text.encode() not in self._output:
            assert select.select([self._child.stdout], [], [], _SECONDS)[0], self._output
            data = os.read(self._child.stdout.fileno(), 65_536)
            assert data, self._output
            self._output += data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.communicate()
