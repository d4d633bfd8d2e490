"""`flyball demo`: the same with GPUs that are not there, so that anyone sees what GPUs look like."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flyball.command.errors import CommandError
from flyball.command.local import AgentPlan, LocalPlan, run
from flyball.command.up import Directory, GrpcPort, HttpPort
from flyball.extras import advice, missing

EXAMPLE = "Example: flyball demo    flyball demo --scenario hot --gpus 4 --hosts 2"

_SCENARIOS = "steady, starved, hot, leak, straggler or xid"


def demo(
    scenario: Annotated[str, typer.Option(help=f"What happens to the GPUs: {_SCENARIOS}.")] = "hot",
    gpus: Annotated[int, typer.Option(min=1, max=16, help="GPUs of each host.")] = 8,
    hosts: Annotated[int, typer.Option(min=1, max=16, help="How many hosts this machine pretends to be.")] = 1,
    directory: Directory = Path(".flyball-demo"),
    port_grpc: GrpcPort = 3590,
    port_http: HttpPort = 3591,
) -> None:
    """Watch this machine with stand-in GPUs that play a scenario; needs a C compiler."""
    absent = missing("agent")
    if absent:
        raise CommandError(advice("flyball demo", "all", absent))
    home = directory.absolute()
    agents = [_agent(home, f"demo-{number:02}", scenario, gpus) for number in range(1, hosts + 1)]
    note = (
        f"These GPUs are not real: they play the scenario `{scenario}` ({_SCENARIOS}). "
        "All else is this machine's own: where its CPU is busy, that is diagnosed, too."
    )
    run(LocalPlan("demo", home, port_grpc, port_http, agents, note), Console())


def _agent(home: Path, host: str, scenario: str, gpus: int) -> AgentPlan:
    from flyball_agent.standin.library import StandInError
    from flyball_agent.standin.scenarios import slow_gpu, start_standin

    try:
        library = start_standin(home / host / "gpus", scenario, gpus)
    except StandInError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"{home / host}: {error.strerror}; name another with --directory") from None
    trains = scenario == "straggler" and gpus > 1
    training = (f"training-{host}", str(gpus), str(slow_gpu(gpus)), str(library.parent)) if trains else ()
    return AgentPlan(host, {"host": host, "nvml_library": library}, training)
