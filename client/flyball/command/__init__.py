"""The command line: one module a command, listed here. Only the module of the command that is wanted is imported."""

import sys
from collections.abc import Sequence
from importlib import import_module

import typer

from flyball.command.errors import CommandError

COMMANDS = (
    "up",
    "demo",
    "top",
    "hosts",
    "host",
    "diagnose",
    "events",
    "advice",
    "silence",
    "capsule",
    "replay",
    "plan",
    "calibrate",
    "validate",
    "examples",
    "models",
    "hardware",
    "configure",
    "recommend",
    "prices",
    "storage",
    "scale",
    "sweep",
    "audit",
    "config",
    "certs",
    "token",
    "store",
    "spool",
    "version",
)
"""Each is a module beside this one with a function of its name and an `EXAMPLE`, or with a `build` for a group."""


def build(wanted: str = "") -> typer.Typer:
    """The whole command line, or as much of it as one command needs: that starts sooner."""
    app = typer.Typer(
        name="flyball",
        help="A governor for training fleets: watches every host once a second, and says what bounds each run.",
        epilog="Begin with: flyball up. The daemons themselves: flyball agent --help, flyball collector --help.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_group)
    for name in (wanted,) if wanted in COMMANDS else COMMANDS:
        module = import_module(f"flyball.command.{name}")
        if hasattr(module, "build"):
            app.add_typer(module.build(), name=name)
        else:
            app.command(name, epilog=getattr(module, "EXAMPLE", None))(getattr(module, name))
    return app


def _group() -> None:  # without one, typer would take a single command for the whole program
    pass


def run(arguments: Sequence[str]) -> int:
    """Run a command; what went wrong is one clear line, never a traceback. Returns the exit status."""
    try:
        typer.main.get_command(build(arguments[0] if arguments else "")).main(list(arguments), prog_name="flyball")
    except CommandError as error:
        print(f"flyball: {error}", file=sys.stderr)
        return error.status
    except SystemExit as end:  # how typer ends, also a good end
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
