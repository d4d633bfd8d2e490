"""The `flyball-agent` command."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from flyball_agent.errors import AgentError, NoSpool
from flyball_agent.installed_version import installed_version
from flyball_agent.settings import ENVIRONMENT_PREFIX, FILE, AgentSettings
from flyball_daemon.file_faults import read_fault
from flyball_daemon.help_page import DaemonParser
from flyball_daemon.settings import SettingsError, load

PROGRAM = "flyball-agent"
EXAMPLES = (
    f"flyball-agent  # run the daemon with {FILE}",
    "flyball-agent --set collector=10.0.0.5:3590  # the same with another collector",
    "flyball-agent --once  # print all readings once",
    "flyball-agent --check  # list readable and unavailable metrics, with reasons and remedies",
    "flyball-agent spool inspect /var/lib/flyball-agent  # list the records that wait for the collector",
)


def main(arguments: Sequence[str] | None = None, *, program: str = PROGRAM) -> int:
    """Run the command line. Return 0 on success, 1 after a failure, 2 for wrong arguments or settings.

    Messages begin with the name of the `program` that was called.
    """
    parser = _parser()
    options = parser.parse_args(list(sys.argv[1:] if arguments is None else arguments))
    if options.format and not (options.command or options.once or options.check):
        parser.error("--format needs --once or --check")
    try:
        status = _inspect_spool(options) if options.command == "spool" else _run(options)
        sys.stdout.flush()
        return status
    except SettingsError as error:
        print("\n".join(f"{program}: {problem}" for problem in error.problems), file=sys.stderr)
        return 2
    except NoSpool as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except PermissionError as error:
        print(f"{program}: {read_fault(error.filename, error)}", file=sys.stderr)
        return 1
    except OSError as error:
        what = error.filename or "cannot write the output"
        print(f"{program}: {what}: {error.strerror or error}", file=sys.stderr)
        return 1
    except AgentError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = DaemonParser(
        PROGRAM,
        description=(
            "Read the metrics of this host every second and send them to a collector.\n\n"
            "Signals: HUP reads the settings again, USR1 prints the stacks of all threads and tasks, TERM and INT stop "
            "the agent in order."
        ),
        examples=EXAMPLES,
    )
    parser.add_argument(
        "--config", "-c", metavar="FILE", type=Path, help=f"Settings file.  [default: {FILE}, if it exists]"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="assignments",
        help="Override a setting; may be repeated.",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--once", action="store_true", help="Print one snapshot and exit.")
    mode.add_argument("--check", action="store_true", help="List readable and unavailable metrics and exit.")
    parser.add_argument(
        "--format", "-f", choices=("table", "json"), help="Output format of --once and --check.  [default: table]"
    )
    parser.add_argument("--version", action="store_true", help="Print the version and exit.")
    parser.set_defaults(command="")
    _add_spool(parser)
    return parser


def _add_spool(parser: argparse.ArgumentParser) -> None:
    """Add the command `spool inspect`."""
    spool = parser.add_subparsers().add_parser(
        "spool",
        help="Inspect the records that wait for the collector.",
        description="Inspect the records that wait for the collector.",
        examples=EXAMPLES[-1:],
    )
    inspect = spool.add_subparsers(required=True, dest="action", metavar="COMMAND").add_parser(
        "inspect",
        help="List epochs, files, ranges of records, damage and losses.",
        description=(
            "List epochs, files, ranges of records, damage and losses. Files are only read, so this is safe while the "
            "agent runs."
        ),
        examples=EXAMPLES[-1:],
    )
    inspect.add_argument(
        "directory",
        metavar="FOLDER",
        type=Path,
        nargs="?",
        help="State directory of an agent.  [default: state_directory of the settings]",
    )
    inspect.add_argument("--format", "-f", choices=("table", "json"), default="table", help="Output format.")
    inspect.set_defaults(command="spool")


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
        print(f"flyball-agent {installed_version()}")
        return 0
    if not (options.once or options.check):
        from flyball_agent.memory_footprint import import_without_extras, use_one_heap  # noqa: PLC0415

        use_one_heap()
        import_without_extras()
    from flyball_agent.settings_check import check_settings  # noqa: PLC0415  --help must not import the probes
    from flyball_daemon import logs  # noqa: PLC0415

    settings = _load(options)
    check_settings(settings)
    logs.set_up(settings.log_level, settings.log_format)
    if options.once or options.check:
        return _show(settings, options)
    from flyball_agent.daemon import run_daemon  # noqa: PLC0415  the other modes do not need gRPC

    run_daemon(settings, lambda: _load(options))
    return 0


def _show(settings: AgentSettings, options: argparse.Namespace) -> int:
    from flyball_agent import checklist, snapshot_output  # noqa: PLC0415
    from flyball_agent.snapshot import take_snapshot  # noqa: PLC0415

    snapshot, machine = take_snapshot(settings), options.format == "json"
    if options.once:
        print(snapshot_output.as_json(snapshot) if machine else snapshot_output.as_text(snapshot))
    else:
        findings = checklist.check_surroundings(settings)
        print(checklist.as_json(snapshot, findings) if machine else checklist.as_text(snapshot, findings))
    return 0


def _inspect_spool(options: argparse.Namespace) -> int:
    from flyball_agent.spool import inspection  # noqa: PLC0415

    folder = inspection.find_spool(options.directory or Path(_load(options).state_directory))
    epochs = inspection.inspect(folder)
    print(inspection.as_json(folder, epochs) if options.format == "json" else inspection.as_text(folder, epochs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
