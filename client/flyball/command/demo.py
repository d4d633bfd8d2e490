"""`flyball demo`: the same as `flyball up`, with simulated GPUs."""

from pathlib import Path
from typing import Annotated

import typer

from flyball.command.errors import CommandError, WrongArgument
from flyball.command.local_daemons import AgentPlan, LocalPlan, run
from flyball.command.output import console
from flyball.command.up import Directory, GrpcPort, HttpPort
from flyball.extras import advice, missing

EXAMPLES = (
    "flyball demo",
    "flyball demo --scenario hot --gpus 4 --hosts 2",
    "flyball demo --scenario govern  # a training is made faster while it runs",
)

_SCENARIOS = "steady, starved, hot, leak, straggler, xid or govern"
_GOVERN = "govern"
_ADJUSTING = {
    "adjustments.enabled": "true",
    "adjustments.policy": "auto",
    "adjustments.cooldown_minutes": 0.2,  # usually ten: too long to watch
    "adjustments.max_per_hour": 60,
    "adjustments.watch_steps": 20,
}


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
    governed = scenario == _GOVERN
    if governed:
        note += (
            "\nThe run `learner-demo-01` waits for a service, and Flyball may change it: see what it changes, why, and "
            f"what that brings, on http://127.0.0.1:{port_http}/ or with `flyball adjust list`."
        )
    plan = LocalPlan("demo", home, port_grpc, port_http, agents, note, _ADJUSTING if governed else {})
    run(plan, console())


def _agent(home: Path, host: str, scenario: str, gpus: int) -> AgentPlan:
    from flyball_agent.standin.library import StandinError
    from flyball_agent.standin.scenarios import SCENARIOS, slow_gpu, start_standin
    from flyball_daemon.suggestion import suggestion

    known = (*SCENARIOS, _GOVERN)
    if scenario not in known:
        raise WrongArgument(f"--scenario {scenario}: expected one of {', '.join(known)}{suggestion(scenario, known)}")
    governed = scenario == _GOVERN
    try:
        library = start_standin(home / host / "gpus", "steady" if governed else scenario, gpus)
    except StandinError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(
            f"--directory {home}: cannot write {home / host}: {error.strerror}; name another folder"
        ) from None
    if governed:
        settings = {"host": host, "nvml_library": library, "adjustments.enabled": "true"}
        return AgentPlan(host, settings, (f"learner-{host}",), "flyball.command.demo_learner")
    trains = scenario == "straggler" and gpus > 1
    training = (f"training-{host}", str(gpus), str(slow_gpu(gpus)), str(library.parent)) if trains else ()
    return AgentPlan(host, {"host": host, "nvml_library": library}, training)
