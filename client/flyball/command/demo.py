"""`flyball demo`: the same as `flyball up`, with simulated GPUs."""

from pathlib import Path
from typing import Annotated

import typer

from flyball.command.errors import CommandError, WrongArgument
from flyball.command.local_daemons import AgentPlan, LocalPlan, run
from flyball.command.output import console
from flyball.command.up import Directory, GrpcPort, HttpPort
from flyball.extras import advice, missing

EXAMPLES = ("flyball demo", "flyball demo --scenario hot --gpus 4 --hosts 2")

_SCENARIOS = "steady, starved, hot, leak, straggler or xid"


def demo(
    scenario: Annotated[str, typer.Option(metavar="NAME", help=f"Behaviour of the GPUs: {_SCENARIOS}.")] = "hot",
    gpus: Annotated[int, typer.Option(metavar="NUMBER", min=1, max=16, help="GPUs of each host.")] = 8,
    hosts: Annotated[int, typer.Option(metavar="NUMBER", min=1, max=16, help="Simulated hosts.")] = 1,
    directory: Directory = Path(".flyball-demo"),
    port_grpc: GrpcPort = 3590,
    port_http: HttpPort = 3591,
) -> None:
    """Watch this machine with simulated GPUs. Needs a C compiler."""
    absent = missing("agent")
    if absent:
        raise CommandError(advice("flyball demo", "all", absent))
    home = directory.absolute()
    agents = [_agent(home, f"demo-{number:02}", scenario, gpus) for number in range(1, hosts + 1)]
    note = (
        f"These GPUs are simulated with the scenario `{scenario}` ({_SCENARIOS}). "
        "All other readings are real: if this machine's CPU is busy, that is diagnosed too."
    )
    run(LocalPlan("demo", home, port_grpc, port_http, agents, note), console())


def _agent(home: Path, host: str, scenario: str, gpus: int) -> AgentPlan:
    from flyball_agent.standin.library import StandinError
    from flyball_agent.standin.scenarios import SCENARIOS, slow_gpu, start_standin
    from flyball_daemon.suggestion import suggestion

    if scenario not in SCENARIOS:
        raise WrongArgument(
            f"--scenario {scenario}: expected one of {', '.join(SCENARIOS)}{suggestion(scenario, SCENARIOS)}"
        )
    try:
        library = start_standin(home / host / "gpus", scenario, gpus)
    except StandinError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(
            f"--directory {home}: cannot write {home / host}: {error.strerror}; name another folder"
        ) from None
    trains = scenario == "straggler" and gpus > 1
    training = (f"training-{host}", str(gpus), str(slow_gpu(gpus)), str(library.parent)) if trains else ()
    return AgentPlan(host, {"host": host, "nvml_library": library}, training)
