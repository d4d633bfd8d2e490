"""The command line: one module a command, listed here."""

import sys
from collections.abc import Sequence

import typer

from flyball.command import (
    advice,
    capsule,
    certs,
    config,
    demo,
    diagnose,
    events,
    host,
    hosts,
    replay,
    silence,
    spool,
    store,
    token,
    up,
    version,
)
from flyball.command.errors import CommandError


def build() -> typer.Typer:
    """The whole command, from an explicit list."""
    app = typer.Typer(
        name="flyball",
        help="A governor for training fleets: watches every host once a second, and says what bounds each run.",
        epilog="Begin with: flyball up. The daemons themselves: flyball agent --help, flyball collector --help.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.command(epilog=up.EXAMPLE)(up.up)
    app.command(epilog=demo.EXAMPLE)(demo.demo)
    app.command(epilog=hosts.EXAMPLE)(hosts.hosts)
    app.command(epilog=host.EXAMPLE)(host.host)
    app.command(epilog=diagnose.EXAMPLE)(diagnose.diagnose)
    app.command(epilog=events.EXAMPLE)(events.events)
    app.command(epilog=advice.EXAMPLE)(advice.advice)
    app.add_typer(silence.build(), name="silence")
    app.command(epilog=capsule.EXAMPLE)(capsule.capsule)
    app.command(epilog=replay.EXAMPLE)(replay.replay)
    app.add_typer(config.build(), name="config")
    app.add_typer(certs.build(), name="certs")
    app.command(epilog=token.EXAMPLE)(token.token)
    app.add_typer(store.build(), name="store")
    app.add_typer(spool.build(), name="spool")
    app.command()(version.version)
    return app


def run(arguments: Sequence[str]) -> int:
    """Run a command; what went wrong is one clear line, never a traceback. Returns the exit status."""
    try:
        typer.main.get_command(build()).main(list(arguments), prog_name="flyball")
    except CommandError as error:
        print(f"flyball: {error}", file=sys.stderr)
        return error.status
    except SystemExit as end:  # how typer ends, also a good end
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
