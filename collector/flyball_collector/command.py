"""The `flyball-collector` command."""

import argparse
import asyncio
import gc
import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from flyball_collector.collector import Collector, CollectorError, WrongSettings
from flyball_collector.settings import ENVIRONMENT_PREFIX, FILE, CollectorSettings
from flyball_collector.store_command import StoreCommandError, back_up, size_bytes
from flyball_daemon import logs
from flyball_daemon.help_page import DaemonParser
from flyball_daemon.settings import Loaded, SettingsError, load
from flyball_daemon.systemd_notifier import SystemdNotifier

EXAMPLES = (
    f"flyball-collector  # run the collector with {FILE}, if it exists",
    "flyball-collector --set store.url=sqlite:///flyball.db  # override a setting",
    f"{ENVIRONMENT_PREFIX}LOG_LEVEL=debug flyball-collector  # the same in the environment; __ separates table and key",
    "flyball-collector store backup /backup/flyball.db  # copy the store while the collector runs",
    "flyball-collector store size",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return 0 on success, 1 after a failure, 2 for wrong arguments or settings."""
    options = _parser().parse_args(arguments)
    try:
        loaded = read_settings(options)
    except SettingsError as error:
        return _complain("\n".join(error.problems), status=2)
    try:
        if options.command == "store":
            _run_store_command(loaded.settings.store.url, options)
            return 0
        return _serve(loaded, options)
    except WrongSettings as error:
        return _complain(str(error), status=2)
    except (CollectorError, StoreCommandError) as error:
        return _complain(str(error), status=1)
    except OSError as error:
        return _complain(f"{error.filename or 'cannot write the output'}: {error.strerror or error}", status=1)


def read_settings(options: argparse.Namespace) -> Loaded[CollectorSettings]:
    """Load the settings from the file, the environment and the command line."""
    assignments = [*options.set, *(["insecure=true"] if options.insecure else [])]
    return load(
        CollectorSettings,
        file=options.config or Path(FILE),
        required=options.config is not None,
        prefix=ENVIRONMENT_PREFIX,
        environment=os.environ,
        assignments=assignments,
    )


def _run_store_command(url: str, options: argparse.Namespace) -> None:
    if options.action == "backup":
        document: dict[str, object] = {"path": str(options.path), "bytes": back_up(url, options.path)}
        text = f"Wrote {options.path} ({document['bytes']:,} bytes)."
    else:
        document = {"url": url, "bytes": size_bytes(url)}
        text = f"{document['bytes']:,} bytes"
    print(json.dumps(document) if options.format == "json" else text)


def _serve(loaded: Loaded[CollectorSettings], options: argparse.Namespace) -> int:
    logs.set_up(loaded.settings.log_level, loaded.settings.log_format)
    collector = Collector(
        loaded, reread=lambda: read_settings(options), notifier=SystemdNotifier.from_environment(os.environ)
    )
    tune_interpreter()
    asyncio.run(collector.run())
    return 0


def tune_interpreter() -> None:
    """Let the event loop wait less for other threads, and make full garbage collections rare.

    Each read of a socket releases the interpreter lock, and a computing thread then holds it for one switch interval.
    With some hundred connections to read, these waits add up to the delay of the loop.
    """
    sys.setswitchinterval(0.0002)
    gc.set_threshold(7_000, 4, 1_500)


def _parser() -> argparse.ArgumentParser:
    parser = DaemonParser(
        "flyball-collector",
        description=(
            "Receive the records of all agents, store and diagnose them, and serve page, API and metrics.\n\n"
            "Signals: HUP reads the settings again, USR1 prints the stacks of all threads and tasks, TERM and INT stop "
            "the collector in order."
        ),
        examples=EXAMPLES,
    )
    parser.add_argument(
        "--config", "-c", type=Path, metavar="FILE", help=f"Settings file.  [default: {FILE}, if it exists]"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="Override a setting; may be repeated."
    )
    parser.add_argument("--insecure", action="store_true", help="Listen beyond loopback without TLS and tokens.")
    parser.add_argument(
        "--version",
        action="version",
        version=f"flyball-collector {version('flyball-fleet')}",
        help="Print the version and exit.",
    )
    store = parser.add_subparsers(dest="command", metavar="COMMAND").add_parser(
        "store",
        help="Back up or measure the store.",
        description="Back up or measure the store, also while the collector runs.",
        examples=EXAMPLES[3:],
    )
    actions = store.add_subparsers(dest="action", metavar="COMMAND", required=True)
    backup = actions.add_parser(
        "backup",
        help="Write a consistent copy of the store.",
        description="Write a consistent copy of the store, also while the collector runs.",
        examples=EXAMPLES[3:4],
    )
    backup.add_argument("path", type=Path, metavar="PATH", help="A new file; an existing one is never overwritten.")
    size = actions.add_parser(
        "size",
        help="Print the size of the store.",
        description="Print the size of the store on disk.",
        examples=EXAMPLES[4:],
    )
    for action in (backup, size):
        action.add_argument("--format", "-f", choices=("table", "json"), default="table", help="Output format.")
    return parser


def _complain(message: str, *, status: int) -> int:
    print("\n".join(f"flyball-collector: {line}" for line in message.splitlines()), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
