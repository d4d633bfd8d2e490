"""`flyball up`: watch this machine with one command."""

import json
from pathlib import Path
from typing import Annotated

import typer

from flyball.command.local_daemons import AgentPlan, LocalPlan, run
from flyball.command.output import console

EXAMPLES = ("flyball up", "flyball up --directory /tmp/flyball --port-http 8080", "flyball up --adjust")

Directory = Annotated[
    Path, typer.Option("--directory", "-d", metavar="FOLDER", help="Folder of the store, the logs and the spool.")
]
GrpcPort = Annotated[
    int, typer.Option("--port-grpc", metavar="PORT", min=1, max=65535, help="Port for agents, on loopback.")
]
HttpPort = Annotated[
    int,
    typer.Option("--port-http", metavar="PORT", min=1, max=65535, help="Port of page and API, on loopback."),
]
Adjust = Annotated[
    bool,
    typer.Option(
        "--adjust",
        help="Allow changes of running trainings; each waits for approval in `flyball adjust list`. Without tokens, "
        "everyone on this machine may approve.",
    ),
]


def up(
    directory: Directory = Path(".flyball"),
    port_grpc: GrpcPort = 3590,
    port_http: HttpPort = 3591,
    adjust: Adjust = False,
) -> None:
    """Watch this machine with an agent, a collector and an embedded store, until Ctrl-C."""
    run(plan_of(directory, port_grpc, port_http, adjust=adjust), console())


def plan_of(directory: Path, port_grpc: int, port_http: int, *, adjust: bool) -> LocalPlan:
    """Return what to start. Both sides must allow adjustments, and the default policy asks before each."""
    allowed = {"adjustments.enabled": json.dumps(adjust)}
    agent = AgentPlan("agent", settings=allowed)
    return LocalPlan("up", directory.absolute(), port_grpc, port_http, [agent], collector=allowed)
