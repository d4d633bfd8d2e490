"""`flyball certs`: a private certificate authority for agents and collectors."""

import os
import shlex
import socket
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from flyball.command.command_help import add_command, command_group
from flyball.command.errors import CommandError, WrongArgument
from flyball.command.output import FormatOption, OutputFormat, write_json
from flyball.command.specifications import read_text
from flyball.extras import advice, missing

if TYPE_CHECKING:
    from flyball_collector.security.certs import Authority, Issued

Result = TypeVar("Result")

_DIRECTORY = "certs"
_WARN_DAYS = 30
_SETTINGS = Path("/etc/flyball")
"""The folder of the settings. Its certificates can be read by the users that systemd makes for the units."""

Directory = Annotated[
    Path,
    typer.Option(
        "--directory", "-d", metavar="FOLDER", help="Folder of the authority.", envvar="FLYBALL_CERTS_DIRECTORY"
    ),
]
Days = Annotated[
    int | None, typer.Option(metavar="DAYS", min=1, max=36500, help="Validity.  [default: 365; authority: 3650]")
]


def build() -> typer.Typer:
    """Return the group of commands."""
    group = command_group("Create, issue, renew and list the certificates of agents and collectors.")
    add_command(group, "init", init, ["flyball certs init /etc/flyball-ca"])
    examples = [
        "flyball certs issue --collector flyball.example -d /etc/flyball-ca",
        "flyball certs issue gpu-01 gpu-02 -d /etc/flyball-ca",
        "flyball certs issue --from hosts.txt -d /etc/flyball-ca",
    ]
    add_command(group, "issue", issue, examples)
    add_command(group, "renew", renew, ["flyball certs renew", "flyball certs renew gpu-01 --days 90"])
    add_command(group, "list", list_all, ["flyball certs list --format json"])
    return group


def init(
    directory: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="A new folder. Keep it on this machine: its ca.key is secret.")
    ] = Path(_DIRECTORY),
    days: Days = None,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Create a certificate authority."""
    ca = _with_authority(lambda authority: authority.initialise(*([days] if days else [])), directory)
    if format_ is OutputFormat.JSON:
        return write_json([_row(ca, datetime.now(UTC))])
    folder = shlex.quote(os.fspath(directory))
    _print(
        f"Wrote {ca.certificate_file} (public) and {ca.key_file} (secret; keep it on this machine).",
        "",
        "Next, issue a certificate for the collector, by the name that agents connect to, and one for each host:",
        f"  flyball certs issue --collector flyball.example -d {folder}",
        f"  flyball certs issue gpu-01 gpu-02 -d {folder}",
        "",
        f"Each command prints how to install its files in {_SETTINGS}, where the systemd units can read them.",
    )
    return None


def issue(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME…]", help="Host names, as the agents report them (`host` in agent.toml)."),
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Read names from a file: one on each line, # for comments."),
    ] = None,
    collector: Annotated[bool, typer.Option("--collector", help="Issue for collectors, not for agents.")] = False,
    san: Annotated[
        list[str] | None,
        typer.Option("--san", metavar="NAME", help="Another name or address of this host; may be repeated."),
    ] = None,
    days: Days = None,
    directory: Directory = Path(_DIRECTORY),
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Create a key and a certificate for each host, and print how to install them."""
    wanted = list(dict.fromkeys([*(names or ()), *(_names_of(from_) if from_ else ())]))
    if not wanted and from_:
        raise WrongArgument(f"--from {from_} contains no host name; write one on each line")
    if not wanted:
        raise WrongArgument("name at least one host, or a file of names with --from")
    if san and len(wanted) > 1:
        raise WrongArgument("--san belongs to one host: issue the others without it")
    _with_authority(lambda authority: _check_names(authority, wanted, collector=collector), directory)
    action = partial(_issue, also=san or (), days=days or 365, collector=collector)
    issued = [_with_authority(partial(action, name=name), directory) for name in wanted]
    if format_ is OutputFormat.JSON:
        now = datetime.now(UTC)
        return write_json([_row(each, now) for each in issued])
    for each in issued:
        _print(f"Wrote {each.certificate_file} and {each.key_file}, valid until {_expiry(each)}.")
        _print(f"  names: {', '.join(each.alternative_names)}")
    present = _with_authority(lambda authority: authority.list(), directory)
    address = next((each.name for each in present if each.part and each.part.name == "COLLECTOR"), "flyball.example")
    return _print(*_instructions(issued, directory, address, collector=collector))


def renew(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME…]", help="Hosts, or ca.  [default: all that expire soon]")
    ] = None,
    within: Annotated[
        int,
        typer.Option("--within", metavar="DAYS", min=0, help="Without names: renew certificates with fewer days left."),
    ] = 30,
    days: Days = None,
    directory: Directory = Path(_DIRECTORY),
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Extend certificates. Keys and names stay; running daemons load the new files without a restart."""
    now = datetime.now(UTC)
    present = _with_authority(lambda authority: authority.list(), directory)
    unknown = sorted(set(names or ()) - {each.name for each in present})
    if unknown:
        from flyball_daemon.suggestion import suggestion

        hint = suggestion(unknown[0], [each.name for each in present], most=2)
        listing = f"; `flyball certs list -d {directory}` lists all"
        raise WrongArgument(f"{directory} has no certificate for {', '.join(unknown)}{hint or listing}")
    wanted = [each for each in present if (each.name in names if names else each.days_left(now) < within)]
    renewed = [_with_authority(partial(_renew, issued=each, days=days), directory) for each in wanted]
    if format_ is OutputFormat.JSON:
        return write_json([_row(each, now) for each in renewed])
    for each in renewed:
        _print(f"Renewed {each.certificate_file}, valid until {_expiry(each)}.", *_renewal_copy(each))
    if not renewed:
        _print(f"No certificate expires within {within} days.")
    return None


def list_all(directory: Directory = Path(_DIRECTORY), format_: FormatOption = OutputFormat.TABLE) -> None:
    """List all certificates, with the times when they expire."""
    now = datetime.now(UTC)
    rows = [_row(each, now) for each in _with_authority(lambda authority: authority.list(), directory)]
    if format_ is OutputFormat.JSON:
        return write_json(rows)
    width = max(20, *(len(row["name"]) for row in rows))
    _print(f"{'NAME':{width}}  {'FOR':10} {'EXPIRES':20} {'DAYS LEFT':>9}  NAMES")
    for row in rows:
        left = f"{row['days_left']:9.0f}"
        colour = typer.colors.RED if row["days_left"] < 0 else typer.colors.YELLOW
        shown = left if row["days_left"] > _WARN_DAYS else typer.style(left, fg=colour)
        expires = f"{row['expires'][:10]} {row['expires'][11:16]} UTC"
        line = f"{row['name']:{width}}  {row['for']:10} {expires} {shown}  {', '.join(row['names'])}"
        _print(line.rstrip())
    return None


def _expiry(issued: "Issued") -> str:
    return f"{issued.expires:%Y-%m-%d %H:%M} UTC"


def _names_of(file: Path) -> list[str]:
    lines = read_text(file, "write one host name on each line").splitlines()
    return [name for line in lines if (name := line.partition("#")[0].strip())]


def _instructions(issued: Sequence["Issued"], directory: Path, address: str, *, collector: bool) -> Iterator[str]:
    """Yield commands and settings that install the files where the unit of the daemon can read them."""
    daemon, table = ("collector", "grpc") if collector else ("agent", "tls")
    certificate, key = _SETTINGS / f"{daemon}.crt", f"/run/credentials/flyball-{daemon}.service/key"
    yield from ("", "1. Copy the files. On this machine:", *_copies(issued, directory, daemon))
    yield from ("", f"2. Set in {_SETTINGS / daemon}.toml:")
    yield from [] if collector else [f'  collector = ["{address}:3590"]', ""]
    yield f"  [{table}]"
    yield from ['  listen = "0.0.0.0:3590"'] if collector else []
    yield from (
        f'  ca_file = "{_SETTINGS / "ca.crt"}"',
        f'  certificate_file = "{certificate}"',
        f'  key_file = "{key}"',
    )
    if collector:
        yield from ("", "  [http]", f'  certificate_file = "{certificate}"', f'  key_file = "{key}"')
    yield from ("", f"3. Restart the {daemon}. Its unit reads the key as root and passes it on:")
    yield f"  systemctl restart flyball-{daemon}"
    if collector:
        yield from ("", "To open the web port to the network, add tokens: flyball token add --help")


def _copies(issued: Sequence["Issued"], directory: Path, daemon: str) -> Iterator[str]:
    """Yield the commands that copy the files to their hosts; those of this machine are installed."""
    ca = shlex.quote(os.fspath(directory / "ca.crt"))
    here = {socket.gethostname(), socket.getfqdn()}
    for each in issued:
        certificate, key = (shlex.quote(os.fspath(file)) for file in (each.certificate_file, each.key_file))
        if each.name in here:
            yield f"  install -D -m 0644 {ca} {_SETTINGS}/ca.crt"
            yield f"  install -m 0644 {certificate} {_SETTINGS}/{daemon}.crt"
            yield f"  install -m 0600 {key} {_SETTINGS}/{daemon}.key"
            continue
        host = f"root@{each.name}"
        yield f"  ssh {host} mkdir -p {_SETTINGS}"
        yield f"  scp {ca} {host}:{_SETTINGS}/ca.crt"
        yield f"  scp {certificate} {host}:{_SETTINGS}/{daemon}.crt"
        yield f"  scp {key} {host}:{_SETTINGS}/{daemon}.key"


def _renewal_copy(issued: "Issued") -> list[str]:
    file = shlex.quote(os.fspath(issued.certificate_file))
    if issued.part is None:
        return [f"  Copy {file} to {_SETTINGS}/ca.crt on the collector and on every host."]
    daemon = issued.part.name.lower()
    return [f"  scp {file} root@{issued.name}:{_SETTINGS}/{daemon}.crt"]


def _print(*lines: str) -> None:
    typer.echo("\n".join(lines))


def _check_names(authority: "Authority", names: Sequence[str], *, collector: bool) -> None:
    """Raise before the first file is written if a name is not valid or has a certificate already."""
    from flyball_collector.security.certs import Part

    authority.check_new(names, Part.COLLECTOR if collector else Part.AGENT)


def _renew(authority: "Authority", issued: "Issued", days: int | None) -> "Issued":
    return authority.renew(issued, days)


def _issue(authority: "Authority", name: str, also: Sequence[str], days: int, *, collector: bool) -> "Issued":
    from flyball_collector.security.certs import Part

    return authority.issue(name, Part.COLLECTOR if collector else Part.AGENT, also=also, days=days)


def _with_authority(action: Callable[["Authority"], Result], directory: Path) -> Result:
    """Run an action of the authority; its errors end the command with one line."""
    absent = missing("collector")
    if "cryptography" in absent:
        raise CommandError(advice("flyball certs", "collector", absent))
    from flyball_collector.security.certs import Authority, InvalidName
    from flyball_collector.security.pem import CertificateError

    try:
        return action(Authority(directory))
    except CertificateError as error:
        if directory.is_file():
            raise WrongArgument(f"{directory} is a file; name the folder of the authority") from None
        if directory != Path(_DIRECTORY) and not directory.exists():
            raise WrongArgument(f"there is no folder {directory}; create it: flyball certs init {directory}") from None
        kind = WrongArgument if isinstance(error, InvalidName) else CommandError
        raise kind(str(error)) from None
    except (FileExistsError, NotADirectoryError):
        raise WrongArgument(f"{directory} is a file; name a folder") from None
    except OSError as error:
        from flyball_reports.errors import write_fault

        raise CommandError(write_fault(error.filename or directory, error)) from None


def _row(issued: "Issued", now: datetime) -> dict[str, Any]:
    return {
        "name": issued.name,
        "for": "authority" if issued.part is None else issued.part.name.lower(),
        "expires": issued.expires.isoformat(),
        "days_left": round(issued.days_left(now), 1),
        "names": list(issued.alternative_names),
        "certificate_file": os.fspath(issued.certificate_file),
        "key_file": os.fspath(issued.key_file),
    }
