"""The command line: one module a command, listed here. Only the module of the command that runs is imported."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer
from typer.core import CompletionItem, TyperCommand, TyperGroup  # type: ignore[attr-defined]  # it has no public home
from typer.exceptions import TyperException

from flyball.command.command_help import HelpGroup, add_command, command_group, help_text
from flyball.command.errors import CommandError

COMMANDS = {
    "Watch": {
        "up": "Watch this machine, until Ctrl-C.",
        "demo": "Watch this machine with simulated GPUs.",
        "top": "Show the fleet or one host live.",
        "hosts": "List the hosts of the fleet.",
        "host": "Show or remove a host.",
    },
    "Runs": {
        "run": "Run a training that reports without a change of code.",
        "runs": "List the runs of the fleet, or show one.",
        "diagnose": "Show what limits a host or run, and what will fail.",
        "advice": "List what to change, with the expected gain.",
        "adjust": "Change values of running trainings, and take changes back.",
    },
    "Incidents": {
        "events": "List what was raised, changed and cleared.",
        "silence": "Mute notifications for a while.",
        "capsule": "Save an incident to a file.",
        "capture": "Capture stacks, a trace or memory of a running rank.",
        "replay": "Diagnose recorded data again.",
    },
    "Plan": {
        "plan": "Estimate memory, time and cost of a training.",
        "validate": "Check specification files.",
        "examples": "Write, print or list example specifications.",
        "models": "List the models that a specification can name.",
        "hardware": "List the devices that a specification can name.",
        "configure": "Propose training configurations for a device.",
        "recommend": "Recommend hardware for a training.",
        "prices": "Compare cloud prices of a device.",
        "storage": "Estimate the storage of a hierarchical learner.",
    },
    "Code": {
        "audit": "Find code that slows a training down.",
    },
    "Measure": {
        "analyze": "Score this machine, and show what to change.",
        "calibrate": "Improve estimates with measured runs.",
        "profile": "Report what a command uses, and its bottleneck.",
        "scale": "Predict how the time of a command grows.",
        "sweep": "Rank combinations of parameters by speed.",
    },
    "Administer": {
        "agent": "Run the agent on this host.",
        "collector": "Run the collector.",
        "config": "Show the settings of a daemon.",
        "certs": "Manage certificates of agents and collectors.",
        "token": "Manage access tokens of people and scrapers.",
        "store": "Back up or measure the collector's store.",
        "spool": "Inspect the records that wait on a host.",
        "completion": "Set up completion in your shell.",
        "version": "Print the versions of Flyball and its packages.",
    },
}
"""The commands by group. Each has a module with a function of its name and `EXAMPLES`, or with a `build` for a group.
The daemons have their own command lines, in their own packages."""

SUMMARIES = {name: summary for group in COMMANDS.values() for name, summary in group.items()}
SEPARATE = ("agent", "collector", "run")
"""These have their own parsers, because they must start where other packages are missing; here they are only named."""
EXAMPLES = (
    "flyball up  # watch this machine and open the page",
    "flyball hosts --collector http://10.0.0.5:3591  # list the hosts of a fleet",
    "flyball plan run.yaml  # estimate a training before it runs",
    "flyball hosts --help  # show the options of a command",
)
PROGRAM = "flyball"
COMPLETION_VARIABLE = "_FLYBALL_COMPLETE"


class Program(HelpGroup):
    """The `flyball` command; it imports a command when that command is looked up."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002  Typer's own context class
        """Return the names of all commands."""
        return list(SUMMARIES)

    def get_command(  # type: ignore[override]
        self,
        ctx: typer.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> TyperCommand | TyperGroup | None:
        """Return a command, or None if there is none of this name."""
        return load(cmd_name) if cmd_name in SUMMARIES else None

    def get_help(self, ctx: typer.Context) -> str:  # type: ignore[override]  # Typer's own context class
        """Return the help text with the commands by group."""
        groups = [(title, list(group.items())) for title, group in COMMANDS.items()]
        return help_text(self, ctx, groups, list(EXAMPLES), options_last=True)

    def shell_complete(self, ctx: typer.Context, incomplete: str) -> list[CompletionItem]:  # type: ignore[override]
        """Return the commands that begin so, without importing them, and the options."""
        found = [CompletionItem(name, help=text) for name, text in SUMMARIES.items() if name.startswith(incomplete)]
        return found or super().shell_complete(ctx, incomplete)


def load(name: str) -> TyperCommand | TyperGroup:
    """Import a command and return it."""
    if name in SEPARATE:
        return TyperCommand(name, help=SUMMARIES[name])  # only named here; see flyball.__main__
    module = import_module(f"flyball.command.{name}")
    if hasattr(module, "build"):
        app: typer.Typer = module.build()
    else:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        add_command(app, name, getattr(module, name), module.EXAMPLES)
    command = typer.main.get_command(app)
    assert isinstance(command, TyperCommand | TyperGroup)  # noqa: S101  the classes of command_help
    command.name = name
    return command


def build() -> Program:
    """Return the whole command line."""
    app = command_group("Flyball watches training fleets: it finds what limits each run, and what will fail.", Program)
    app.callback()(_options)
    program = typer.main.get_command(app)
    assert isinstance(program, Program)  # noqa: S101  as given above
    return program


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # 20 ms

        typer.echo(f"{PROGRAM} {metadata.version('flyball-fleet')}")
        raise typer.Exit


def _options(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str]) -> int:
    """Run a command and return the exit status: 0, 1 after a failure, 2 for wrong arguments. Errors are one line."""
    program = build()
    if os.environ.get(COMPLETION_VARIABLE):
        return _complete(program)
    if not arguments:
        arguments = ["--help"]
    try:
        status = _run(program, arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _run(program: Program, arguments: Sequence[str]) -> int:
    try:
        with program.make_context(PROGRAM, list(arguments)) as context:
            program.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except CommandError as error:
        return _fail(str(error), error.status)
    except TyperException as error:
        return _fail(*_usage_error(error, arguments))
    except (typer.Abort, EOFError):
        return _fail("aborted", 1)
    except BrokenPipeError:
        raise
    except PermissionError as error:
        return _fail(f"no permission for {error.filename}. Run as root, or name another file", 1)
    except OSError as error:
        return _fail(f"{error.filename or 'cannot write the output'}: {error.strerror or error}", 1)
    except Exception as error:  # users get one line; the variable brings the traceback
        if os.environ.get("FLYBALL_DEBUG"):
            raise
        kind = type(error).__name__
        return _fail(f"internal error: {kind}: {error}. Set FLYBALL_DEBUG=1 for the traceback, and report it", 1)
    return 0


def _fail(message: str, status: int) -> int:
    """Print an error. Each of several errors begins with the name of the program; indented lines belong to the last."""
    if not message.startswith("Usage: "):
        lines = message.splitlines()
        message = "\n".join(line if line.startswith(" ") else f"{PROGRAM}: {line}" for line in lines)
    print(message, file=sys.stderr)
    return status


def _usage_error(error: TyperException, arguments: Sequence[str]) -> tuple[str, int]:
    """Return the message for a wrong command line, with the command whose help explains it; or that help itself."""
    from flyball.command.usage_errors import usage_error

    message, context = error.format_message(), getattr(error, "ctx", None)
    if message.startswith("Usage: "):  # a group without a command
        return message, 2
    named = " ".join([PROGRAM, *(name for name in arguments[:1] if name in SUMMARIES)])
    path, text = context.command_path if context else named, usage_error(message)
    if text.startswith("cannot read "):  # a file without permission
        return text, 2
    return f"{text}{'' if text.endswith('?') else '.'} See `{path} --help`.", 2


def _complete(program: Program) -> int:
    from typer.completion import completion_init  # type: ignore[attr-defined]  # it has no public home

    completion_init()
    try:
        program.main([], prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0
