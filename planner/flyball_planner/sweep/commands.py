"""A user's command as something that can be tried: it is told its configuration, and may answer with figures."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import cast

from msgspec import Struct

from flyball_reports.errors import InputError

VARIABLE = "FLYBALL_{}"  # FLYBALL_DEPTH and so on, for commands that read their environment
TAIL_CHARACTERS = 500  # of what a failed command said last


class CommandFailed(Exception):
    """A command ended with an error or took too long."""


class Command(Struct, frozen=True):
    """Runs in a process of its own; `{depth}` in an argument becomes the value of `depth`.

    A last line of standard output that is a JSON object is the command's answer; `patterns` in it counts what was done.
    """

    arguments: tuple[str, ...]
    timeout_seconds: float | None = None
    folder: str | None = None

    def __post_init__(self) -> None:
        if not self.arguments:
            raise InputError("there is no command to run; give at least a program")

    def __call__(self, **values: object) -> object:
        """Run it once; `CommandFailed` where it fails."""
        with self._started(values) as process:
            try:
                output, complaint = process.communicate(timeout=self.timeout_seconds)
            except subprocess.TimeoutExpired:
                raise CommandFailed(f"took longer than {self.timeout_seconds:g} s") from None
            finally:
                _end(process)
        if process.returncode:
            said = complaint.strip() or output.strip()
            raise CommandFailed(": ".join(filter(None, (f"exit status {process.returncode}", said[-TAIL_CHARACTERS:]))))
        return _answer(output)

    def _started(self, values: Mapping[str, object]) -> "subprocess.Popen[str]":
        names = {VARIABLE.format(name.upper()): str(value) for name, value in values.items()}
        try:
            return subprocess.Popen(
                [_filled(argument, values) for argument in self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                cwd=self.folder,
                env=os.environ | names,
                start_new_session=True,  # so that its children end with it
            )
        except OSError as error:
            raise CommandFailed(f"{self.arguments[0]} cannot be started: {error.strerror or error}") from None


def _filled(argument: str, values: Mapping[str, object]) -> str:
    """Only known names are filled in: other braces belong to the command."""
    for name, value in values.items():
        argument = argument.replace("{" + name + "}", str(value))
    return argument


def _end(process: subprocess.Popen[str]) -> None:
    """Whatever the command started and left behind is ended too; nothing is left where all went well."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _answer(output: str) -> Mapping[str, object] | None:
    lines = output.strip().splitlines()
    try:
        answer = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return cast("Mapping[str, object]", answer) if isinstance(answer, dict) else None
