"""`flyball certs`: a private authority for agents and collectors."""

import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from flyball.command.errors import CommandError
from flyball.extras import advice, missing

if TYPE_CHECKING:
    from flyball_collector.security.certs import Authority, Issued

Result = TypeVar("Result")

_DIRECTORY = "certs"
_WARN_DAYS = 30


class Format(StrEnum):
    """How the list is shown."""

    TABLE = "table"
    JSON = "json"


Directory = Annotated[
    Path, typer.Option("--directory", "-d", help="Where the authority lives.", envvar="FLYBALL_CERTS_DIRECTORY")
]
Days = Annotated[int | None, typer.Option(min=1, max=36500, help="How long the certificate is valid.")]


def build() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(help="Make, renew and list the certificates of agents and collectors.", no_args_is_help=True)
    app.command(epilog="Example: flyball certs init /etc/flyball/certs")(init)
    app.command(epilog="Example: flyball certs issue gpu-01    flyball certs issue --collector flyball.example")(issue)
    app.command(epilog="Example: flyball certs renew    flyball certs renew gpu-01 --days 90")(renew)
    app.command("list", epilog="Example: flyball certs list --format json")(list_all)
    return app


def init(
    directory: Annotated[Path, typer.Argument(help="A new directory; its ca.key must stay secret.")] = Path(_DIRECTORY),
    days: Days = None,
) -> None:
    """Make a private authority."""
    ca = _try(lambda authority: authority.initialise(*([days] if days else [])), directory)
    typer.echo(f"made {ca.certificate_file} (copy it to every host) and {ca.key_file} (keep it here, and secret)")
    typer.echo(f"next: flyball certs issue --collector NAME -d {directory}; flyball certs issue HOST -d {directory}")


def issue(
    name: Annotated[str, typer.Argument(help="Host name, as the agent says it (`host` of its settings).")],
    collector: Annotated[bool, typer.Option("--collector", help="For a collector instead of an agent.")] = False,
    san: Annotated[list[str] | None, typer.Option("--san", help="Another name or address; may be repeated.")] = None,
    days: Days = None,
    directory: Directory = Path(_DIRECTORY),
) -> None:
    """Make a key and a certificate for a host."""
    issued = _try(lambda authority: _issue(authority, name, san or (), days or 365, collector=collector), directory)
    typer.echo(f"made {issued.certificate_file} and {issued.key_file}, valid until {issued.expires:%Y-%m-%d}")
    typer.echo(f"names: {', '.join(issued.alternative_names)}")
    section, file = ("grpc", "collector.toml") if collector else ("tls", "agent.toml")
    typer.echo(f"copy both and ca.crt to {name}:/etc/flyball/, and say in /etc/flyball/{file}:\n")
    typer.echo(f'[{section}]\nca_file = "/etc/flyball/ca.crt"')
    typer.echo(f'certificate_file = "/etc/flyball/{name}.crt"\nkey_file = "/etc/flyball/{name}.key"')
    typer.echo(
        f"\nunder systemd: LoadCredential=key:/etc/flyball/{name}.key in a drop-in, and docs/security.md for key_file"
    )


def renew(
    names: Annotated[list[str] | None, typer.Argument(help="Hosts, or ca; none: all that end soon.")] = None,
    within: Annotated[int, typer.Option("--within", min=0, help="Without names: those with fewer days left.")] = 30,
    days: Days = None,
    directory: Directory = Path(_DIRECTORY),
) -> None:
    """Give certificates a new time; keys and names stay, running daemons take them without a restart."""
    now = datetime.now(UTC)
    present = _try(lambda authority: authority.list(), directory)
    unknown = sorted(set(names or ()) - {each.name for each in present})
    if unknown:
        raise CommandError(f"{directory} holds no certificate of {', '.join(unknown)}; flyball certs list shows them")
    wanted = [each for each in present if (each.name in names if names else each.days_left(now) < within)]
    for each in wanted:
        renewed = _try(partial(_renew, issued=each, days=days), directory)
        typer.echo(f"renewed {renewed.certificate_file}, valid until {renewed.expires:%Y-%m-%d}: copy it to its host")
    if not wanted:
        typer.echo(f"nothing ends within {within} days")


def list_all(
    format_: Annotated[Format, typer.Option("--format", help="table or json.")] = Format.TABLE,
    directory: Directory = Path(_DIRECTORY),
) -> None:
    """List every certificate, and until when it is valid."""
    now = datetime.now(UTC)
    rows = [_row(each, now) for each in _try(lambda authority: authority.list(), directory)]
    if format_ is Format.JSON:
        typer.echo(json.dumps(rows, indent=2))
        return
    typer.echo(f"{'name':28} {'for':10} {'until':11} {'days':>6}  names")
    for row in rows:
        left = f"{row['days_left']:6.0f}"
        colour = typer.colors.RED if row["days_left"] < 0 else typer.colors.YELLOW
        shown = left if row["days_left"] > _WARN_DAYS else typer.style(left, fg=colour)
        typer.echo(f"{row['name']:28} {row['for']:10} {row['expires'][:10]} {shown}  {', '.join(row['names'])}")


def _renew(authority: "Authority", issued: "Issued", days: int | None) -> "Issued":
    return authority.renew(issued, days)


def _issue(authority: "Authority", name: str, also: Sequence[str], days: int, *, collector: bool) -> "Issued":
    from flyball_collector.security.certs import Part

    return authority.issue(name, Part.COLLECTOR if collector else Part.AGENT, also=also, days=days)


def _try(action: Callable[["Authority"], Result], directory: Path) -> Result:
    """Do something with the authority; what goes wrong is told in one line."""
    absent = missing("collector")
    if "cryptography" in absent:
        raise CommandError(advice("flyball certs", "collector", absent))
    from flyball_collector.security.certs import Authority
    from flyball_collector.security.pem import CertificateError

    try:
        return action(Authority(directory))
    except CertificateError as error:
        raise CommandError(str(error)) from None


def _row(issued: "Issued", now: datetime) -> dict[str, Any]:
    return {
        "name": issued.name,
        "for": "authority" if issued.part is None else issued.part.name.lower(),
        "expires": issued.expires.isoformat(),
        "days_left": round(issued.days_left(now), 1),
        "names": list(issued.alternative_names),
        "certificate_file": os.fspath(issued.certificate_file),
    }
