"""The command `flyball-collector`: settings from all sources, then the collector until it is told to stop."""

import argparse
import asyncio
import gc
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from flyball_collector.collector import Collector, CollectorError
from flyball_collector.settings import ENVIRONMENT_PREFIX, FILE, CollectorSettings
from flyball_collector.store_command import StoreCommandError
from flyball_collector.store_command import run as run_store_command
from flyball_daemon import logs
from flyball_daemon.settings import Loaded, SettingsError, load
from flyball_daemon.systemd_notifier import SystemdNotifier

_EXAMPLES = f"""\
examples:
  flyball-collector                                         with {FILE}, if it is there
  flyball-collector --set store.url=sqlite:///flyball.db    every key can be set so
  {ENVIRONMENT_PREFIX}LOG_LEVEL=debug flyball-collector      or so: a table's keys with two underscores
  flyball-collector store backup /backup/flyball.db         a consistent copy while it runs
  flyball-collector store size

signals: HUP reads the settings again, USR1 shows threads and tasks, TERM and INT stop in order.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit status is 0 after an orderly stop, 1 after a failure, 2 when it was called wrongly."""
    options = _parser().parse_args(arguments)
    try:
        loaded = read_settings(options)
    except SettingsError as error:
        return _complain("these settings cannot be used:", error.problems, status=2)
    try:
        if options.command == "store":
            print(run_store_command(loaded.settings.store.url, options.action, options.path or ()))
            return 0
        return _serve(loaded, options)
    except (CollectorError, StoreCommandError) as error:
        return _complain(str(error), (), status=1)


def read_settings(options: argparse.Namespace) -> Loaded[CollectorSettings]:
    """The settings as files, environment and command line say now."""
    assignments = [*options.set, *(["insecure=true"] if options.insecure else [])]
    return load(
        CollectorSettings,
        file=options.config or Path(FILE),
        required=options.config is not None,
        prefix=ENVIRONMENT_PREFIX,
        environment=os.environ,
        assignments=assignments,
    )


def _serve(loaded: Loaded[CollectorSettings], options: argparse.Namespace) -> int:
    logs.set_up(loaded.settings.log_level, loaded.settings.log_format)
    collector = Collector(
        loaded, reread=lambda: read_settings(options), notifier=SystemdNotifier.from_environment(os.environ)
    )
    tune_interpreter()
    asyncio.run(collector.run())
    return 0


def tune_interpreter() -> None:
    """The event loop hardly waits for other threads; collections are short, full ones are rare.

    Each read of a socket gives the interpreter away, and a thread that computes keeps it for one interval: with some
    hundred connections to read, that is what the loop is late by.
    """
    sys.setswitchinterval(0.0002)
    gc.set_threshold(7_000, 4, 1_500)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="flyball-collector",
        description="Takes what agents send, keeps it, and shows it to Prometheus and people.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", "-c", type=Path, metavar="FILE", help=f"settings instead of {FILE}")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="one setting; may be repeated")
    parser.add_argument("--insecure", action="store_true", help="listen beyond loopback without TLS and tokens")
    parser.add_argument("--version", action="version", version=f"flyball-collector {version('flyball-fleet')}")
    commands = parser.add_subparsers(dest="command", metavar="store")
    store = commands.add_parser("store", help="back up or measure the store").add_subparsers(
        dest="action", required=True
    )
    backup = store.add_parser("backup", help="write a consistent copy while the collector runs")
    backup.add_argument("path", nargs=1, type=str, metavar="PATH", help="a new file")
    store.add_parser("size", help="say what the store takes on disk").set_defaults(path=[])
    return parser


def _complain(what: str, details: Sequence[str], *, status: int) -> int:
    print("\n  ".join([f"flyball-collector: {what}", *details]), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
