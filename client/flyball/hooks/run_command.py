"""`flyball run`: starts a command whose Python processes report their steps. It needs the standard library alone."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from flyball.hooks.child_environment import child_environment, environment_at_start, without_coercion
from flyball.hooks.run_name import run_name
from flyball.training.identity import MAX_LABELS
from flyball.training.texts import MAX_NAME, clean
from flyball_daemon.help_page import DaemonParser, plain_error

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "flyball run"
EXAMPLES = (
    "flyball run -- python train.py  # report the steps of a script that does not do so itself",
    "flyball run --name llama-7b-3 --label team=nlp -- torchrun --nproc-per-node 8 train.py",
    "flyball run --measure 50 -- python train.py  # also write flyball-evidence.yaml for `flyball audit --evidence`",
    "flyball run --max-restarts 3 -- torchrun train.py  # start it again after a failure, from its last checkpoint",
    "flyball run --policy ask -- python train.py  # allow changes that need no code: workers of the loader, throttling",
)
EVIDENCE = "flyball-evidence.yaml"
NOT_EXECUTABLE = 126
NOT_FOUND = 127
"""The statuses that shells use."""

WITH_VALUE = ("--name", "--label", "--total-steps", "--measure", "--evidence", "--max-restarts", "--policy")


class RunParser(DaemonParser):
    """A parser whose errors look like those of the other commands."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong in one line and exit with status 2."""
        options = [name for action in self._actions for name in action.option_strings]
        text = re.sub(r"^argument ([^:/]+)[^:]*: ", r"\1 ", plain_error(message, options))
        self.exit(2, f"flyball: {text}{'' if text.endswith('?') else '.'} See `{PROGRAM} --help`.\n")


def main(arguments: Sequence[str]) -> int:
    """Start the command in place of this process. Return a status only if it could not be started."""
    own, command = split(arguments)
    parser = build_parser()
    options = parser.parse_args([*own, "--", command[0]] if command else own)
    if len(options.labels) > MAX_LABELS:
        parser.error(f"--label: at most {MAX_LABELS} labels, not {len(options.labels)}")
    evidence, fault = evidence_file(options.evidence, options.measure)
    if fault:
        parser.error(fault)
    start = without_coercion(os.environ, environment_at_start())
    environment = child_environment(
        start,
        name=options.name or clean(start.get("FLYBALL_RUN", "")) or run_name(command, start, _new_id()),
        labels=options.labels,
        total_steps=options.total_steps,
        measure=options.measure,
        evidence=evidence,
        policy=options.policy,
    )
    if options.max_restarts:
        return supervised(command, environment, options.max_restarts)
    return replace_process(command, environment)


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return our own arguments and the command. It begins behind `--`, or with the first word that is not an option."""
    words = list(arguments)
    index = 0
    while index < len(words):
        if words[index] == "--":
            return words[:index], words[index + 1 :]
        if not words[index].startswith("-"):
            return words[:index], words[index:]
        has_value = words[index] in WITH_VALUE and words[index + 1 : index + 2] != ["--"]
        index += 2 if has_value else 1
    return words, []


def build_parser() -> RunParser:
    """Return the parser of our own arguments."""
    parser = RunParser(
        PROGRAM,
        description=(
            "Run a training whose code does not use Flyball. Each Python process that trains with torch reports its "
            "steps to the agent of this host. The command replaces this process: its output, signals and exit status "
            "are its own, and so are its results. With --max-restarts, this process stays, passes all of that on, and "
            "starts the command again after a failure."
        ),
        examples=EXAMPLES,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--name", type=_name, help="Name of the run.  [default: the script, and the id of the job or a new one]")
    add(
        "--label", metavar="KEY=VALUE", action="append", default=[], dest="labels", type=_label,
        help="Label of the run; may be repeated.",
    )  # fmt: skip
    add("--total-steps", metavar="N", type=_count, help="Number of steps, for the time remaining.")
    add("--measure", metavar="N", type=_count, help="Measure N steps for the audit, and write an evidence file.")
    add("--evidence", metavar="FILE", help=f"Evidence file of --measure.  [default: {EVIDENCE}]")
    add(
        "--max-restarts", metavar="N", type=_count,
        help="Start the command again after a failure, at most N times; not after a signal from you or a scheduler.",
    )  # fmt: skip
    add(
        "--policy", choices=("off", "ask", "auto"),
        help="Adjustments that Flyball may make: the loader's workers and prefetch, throttling and pauses, and "
        "what the script declares. ask: after approval; auto: at once.  [default: that of the script, or off]",
    )  # fmt: skip
    add("command", metavar="-- COMMAND", help="The command with its arguments.")
    return parser


def replace_process(command: Sequence[str], environment: dict[str, str]) -> int:
    """Become the command. Return the status of a shell that cannot start it."""
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the command would inherit that
        signal.signal(ignored, signal.SIG_DFL)
    sys.stdout.flush()
    try:
        os.execvpe(command[0], list(command), environment)  # noqa: S606  there is no shell on purpose
    except (OSError, ValueError) as error:
        return _not_started(command, error)


def supervised(command: Sequence[str], environment: dict[str, str], max_restarts: int) -> int:
    """Run the command below this process. Return its status, or that of a shell that cannot start it."""
    from flyball.hooks.restarts import supervise

    try:
        return supervise(command, environment, max_restarts)
    except (OSError, ValueError) as error:
        return _not_started(command, error)


def evidence_file(given: str | None, measure: int | None) -> tuple[str, str]:
    """Return the path of the evidence file, and what is wrong with it.

    It must not depend on the folder: the command may change that.
    """
    if not measure:
        return "", "" if given is None else "--evidence needs --measure"
    path = Path(given or EVIDENCE).absolute()
    if path.is_dir():
        return "", f"--evidence {path}: is a folder; name a file"
    if not path.parent.is_dir():
        return "", f"--evidence {path}: no such folder"
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return "", f"--evidence {path}: no write permission for the folder"
    return str(path), ""


def _name(text: str) -> str:
    if not text or text != clean(text):
        raise argparse.ArgumentTypeError(f"expected 1 to {MAX_NAME} printable characters")
    return text


def _label(text: str) -> str:
    key, separator, value = text.partition("=")
    if not separator or not key.strip() or not value.strip():
        raise argparse.ArgumentTypeError(f"{text}: expected KEY=VALUE")
    if "," in text or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text}: a label has no commas and no control characters")
    return text


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= 10**15:
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number of at least 1")
    return int(text)


def _new_id() -> str:
    """Return the time with two random bytes: a loop may start several trainings in the same second."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}"


def _not_started(command: Sequence[str], error: OSError | ValueError) -> int:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return _fail(f"command not found: {command[0]}{_how(command)}", NOT_FOUND)
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return _fail(f"cannot run {command[0]}: {reason}", NOT_EXECUTABLE)


def _how(command: Sequence[str]) -> str:
    """Return how a script is started, if the command is the name of one."""
    is_script = command[0].endswith(".py") and os.path.isfile(command[0])  # noqa: PTH113  pathlib takes 7 ms to import
    return f". Start it with its interpreter: {PROGRAM} -- python {command[0]}" if is_script else ""


def _fail(message: str, status: int) -> int:
    print(f"flyball: {message}", file=sys.stderr)
    return status
