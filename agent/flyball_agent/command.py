"""The `flyball-agent` command."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from flyball_agent.errors import AgentError
from flyball_agent.settings import ENVIRONMENT_PREFIX, FILE, AgentSettings
from flyball_daemon.settings import SettingsError, load

EXAMPLES = """\
examples:
  flyball-agent                                     run the daemon with /etc/flyball/agent.toml
  flyball-agent --set collector=10.0.0.5:3590       the same, with another collector
  flyball-agent --once                              read everything once and show it
  flyball-agent --check                             what can be read here, what cannot, why, and what to do
  flyball-agent spool inspect /var/lib/flyball-agent   what waits for the collector
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(words)
    try:
        status = _inspect_spool(options) if options.command == "spool" else _run(options)
        sys.stdout.flush()
        return status
    except SettingsError as error:
        print("\n".join(f"flyball-agent: {problem}" for problem in error.problems), file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (AgentError, OSError) as error:
        print(f"flyball-agent: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "flyball-agent",
        description="Watches this host once a second and sends what it reads to a collector.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", metavar="FILE", type=Path, help=f"settings (default: {FILE}, if it exists)")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="assignments", help="one setting; repeatable"
    )
    parser.add_argument("--version", action="store_true", help="show the version and end")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--once", action="store_true", help="show one snapshot and end")
    what.add_argument("--check", action="store_true", help="say what can be read here and what cannot, and end")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of --once, --check")
    parser.set_defaults(command="")
    parts = parser.add_subparsers(title="more", metavar="")
    spool = parts.add_parser("spool", help="look into a spool").add_subparsers(required=True, metavar="inspect")
    inspect = spool.add_parser("inspect", help="show epochs, files, ranges, damage and losses")
    inspect.add_argument("directory", type=Path, nargs="?", help="an agent's state_directory (default: the setting)")
    inspect.add_argument("--format", choices=("text", "json"), default="text")
    inspect.set_defaults(command="spool")
    return parser


def _load(options: argparse.Namespace) -> AgentSettings:
    return load(
        AgentSettings,
        file=options.config or Path(FILE),
        required=options.config is not None,
        prefix=ENVIRONMENT_PREFIX,
        environment=os.environ,
        assignments=options.assignments,
    ).settings


def _run(options: argparse.Namespace) -> int:
    if options.version:
        print(metadata.version("flyball"))
        return 0
    if not (options.once or options.check):
        from flyball_agent.lean import import_leanly  # noqa: PLC0415

        import_leanly()
    from flyball_agent.host import check_settings  # noqa: PLC0415  --help must not wait for the probes' imports
    from flyball_daemon import logs  # noqa: PLC0415

    settings = _load(options)
    check_settings(settings)
    logs.set_up(settings.log_level, settings.log_format)
    if options.once or options.check:
        return _show(settings, options)
    from flyball_agent.daemon import run_daemon  # noqa: PLC0415  gRPC is not needed to look

    run_daemon(settings, lambda: _load(options))
    return 0


def _show(settings: AgentSettings, options: argparse.Namespace) -> int:
    from flyball_agent import checklist, snapshot_output  # noqa: PLC0415
    from flyball_agent.snapshot import take_snapshot  # noqa: PLC0415

    snapshot, machine = take_snapshot(settings), options.format == "json"
    if options.once:
        print(snapshot_output.as_json(snapshot) if machine else snapshot_output.as_text(snapshot))
    else:
        findings = checklist.look_around(settings)
        print(checklist.as_json(snapshot, findings) if machine else checklist.as_text(snapshot, findings))
    return 0


def _inspect_spool(options: argparse.Namespace) -> int:
    from flyball_agent.spool import inspection  # noqa: PLC0415

    directory = options.directory or Path(_load(options).state_directory)
    try:
        folder = inspection.find_spool(directory)
        epochs = inspection.inspect(folder)
    except (FileNotFoundError, ValueError) as error:
        print(f"flyball-agent: {error}", file=sys.stderr)
        return 2
    print(inspection.as_json(folder, epochs) if options.format == "json" else inspection.as_text(folder, epochs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
