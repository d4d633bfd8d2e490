"""Commands as tasks of a sweep. A command receives its configuration and may print figures."""

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
TAIL_CHARACTERS = 500  # of the output of a failed command


class CommandFailed(Exception):
    """A command failed or took too long."""


class Command(Struct, frozen=True):
    """A command that runs in its own process; `{depth}` in an argument is replaced by the value of `depth`.

    If the last line of standard output is a JSON object, it is the command's result; `patterns` in it counts the work
    done.
    """

    arguments: tuple[str, ...]
    timeout_seconds: float | None = None
    folder: str | None = None

    def __post_init__(self) -> None:
        if not self.arguments:
            raise InputError("no command to run; pass at least a program")

    def __call__(self, **values: object) -> object:
        """Run the command once; raises `CommandFailed` on failure."""
        with self._started(values) as process:
            try:
                output, errors = process.communicate(timeout=self.timeout_seconds)
            except subprocess.TimeoutExpired:
                raise CommandFailed(f"took longer than {self.timeout_seconds:g} s") from None
            finally:
                _end(process)
        if process.returncode:
            message = errors.strip() or output.strip()
            raise CommandFailed(
                ": ".join(filter(None, (f"exit status {process.returncode}", message[-TAIL_CHARACTERS:])))
            )
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
            raise CommandFailed(_not_started(self.arguments[0], error)) from None


def _not_started(program: str, error: OSError) -> str:
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return f"there is no program {program}"
        case PermissionError():
            return f"{program} is not executable"
    return f"cannot start {program}: {error.strerror or error}"


def _filled(argument: str, values: Mapping[str, object]) -> str:
    """Replace known names only; other braces belong to the command."""
    for name, value in values.items():
        argument = argument.replace("{" + name + "}", str(value))
    return argument


def _end(process: subprocess.Popen[str]) -> None:
    """Kill everything that the command left running."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _answer(output: str) -> Mapping[str, object] | None:
    lines = output.strip().splitlines()
    try:
        answer = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return cast("Mapping[str, object]", answer) if isinstance(answer, dict) else None
