"""`flyball up`: watch this machine with one command."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flyball.command.local import AgentPlan, LocalPlan, run

EXAMPLE = "Example: flyball up    flyball up --directory /tmp/flyball --port-http 8080"

Directory = Annotated[Path, typer.Option("--directory", "-d", help="Where the store, the logs and the spool live.")]
GrpcPort = Annotated[int, typer.Option("--port-grpc", min=1, max=65535, help="Where agents connect, on loopback.")]
HttpPort = Annotated[int, typer.Option("--port-http", min=1, max=65535, help="Page, API and metrics, on loopback.")]


def up(directory: Directory = Path(".flyball"), port_grpc: GrpcPort = 3590, port_http: HttpPort = 3591) -> None:
    """Watch this machine: agent, collector and embedded store, until Ctrl-C."""
    plan = LocalPlan("up", directory.absolute(), port_grpc, port_http, [AgentPlan("agent")])
    run(plan, Console())
