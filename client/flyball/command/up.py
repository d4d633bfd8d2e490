"""`flyball up`: watch this machine with one command."""

from pathlib import Path
from typing import Annotated

import typer

from flyball.command.local_daemons import AgentPlan, LocalPlan, run
from flyball.command.output import console

EXAMPLES = ("flyball up", "flyball up --directory /tmp/flyball --port-http 8080")

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


def up(directory: Directory = Path(".flyball"), port_grpc: GrpcPort = 3590, port_http: HttpPort = 3591) -> None:
    """Watch this machine with an agent, a collector and an embedded store, until Ctrl-C."""
    plan = LocalPlan("up", directory.absolute(), port_grpc, port_http, [AgentPlan("agent")])
    run(plan, console())
