"""`flyball audit --run`: runs a training, and audits its script with what was measured meanwhile."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from flyball.command.errors import CommandError, WrongArgument
from flyball.hooks.child_environment import child_environment
from flyball.hooks.run_name import run_name

STEPS = 50


@dataclass(frozen=True, slots=True)
class MeasuredCommand:
    """The scripts of a command, and the file with the facts of its run."""

    scripts: tuple[Path, ...]
    evidence: Path


@contextmanager
def measured_run(command: Sequence[str]) -> Iterator[MeasuredCommand]:
    """Run a command to its end and measure its first steps. The file is removed afterwards."""
    scripts = scripts_of(command)
    if not scripts:
        raise WrongArgument("--run: the command contains no Python file to audit, such as: -- python train.py")
    with tempfile.TemporaryDirectory() as folder:
        evidence = Path(folder, "evidence.yaml")
        status = _run(command, evidence)
        if not evidence.exists():
            raise CommandError(
                f"--run: no steps were measured; the command ended with status {status}. At least ten steps of a torch "
                "optimizer, or of a run that the script opens with flyball.run, are needed"
            )
        yield MeasuredCommand(scripts, evidence)


def scripts_of(command: Sequence[str]) -> tuple[Path, ...]:
    """Return the Python files that a command names, also by `-m package.module`."""
    found = [Path(word) for word in command if word.endswith(".py")]
    for option, word in pairwise(command):
        if option == "-m":
            module = Path(*word.split("."))
            found += [module.with_suffix(".py"), module / "__main__.py"]
    return tuple(dict.fromkeys(path for path in found if path.is_file()))


def _run(command: Sequence[str], evidence: Path) -> int:
    """Run the command. Its output goes to our standard error: the standard output is for the findings."""
    name = os.environ.get("FLYBALL_RUN") or run_name(command, os.environ, "audit")
    environment = child_environment(os.environ, name=name, labels=(), measure=STEPS, evidence=str(evidence))
    sys.stderr.flush()
    try:
        with subprocess.Popen(command, stdout=sys.stderr.fileno(), env=environment) as process:
            return _wait(process)
    except OSError as error:
        raise CommandError(f"--run: cannot run {command[0]}: {error.strerror}") from None


def _wait(process: "subprocess.Popen[bytes]") -> int:
    """Wait. Ctrl-C ends the training, which receives it from the terminal too, and the audit goes on."""
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue
