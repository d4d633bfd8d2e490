"""Tests of the processes that the training probe watches."""

from collections.abc import Sequence
from pathlib import Path

from flyball_agent.accelerators.accelerator import Accelerator
from flyball_agent.accelerators.catalogue import build_accelerator_probes
from flyball_agent.probes.catalogue import build_host_probes
from flyball_agent.probes.training.probe import TrainingProbe
from flyball_agent.runs.messages import Hello
from flyball_agent.runs.registry import RunRegistry, SocketPeer
from flyball_agent.runs.tenancy import TenancyReader
from flyball_agent.runs.tenancy_probe import TenancyProbe
from flyball_agent.runs.training_members import name_members
from flyball_agent.settings import AgentSettings, ProbeSettings
from flyball_agent.standin.scenarios import start_standin


def members(
    registry: RunRegistry, accelerators: Sequence[Accelerator] = (), *, processes: bool = True
) -> Sequence[int] | None:
    """Return what the probe watches after one reading of the tenancy."""
    tenancy = TenancyProbe(TenancyReader(), accelerators, registry)
    probe = TrainingProbe(Path("/proc"))
    name_members([probe], tenancy if processes else None, accelerators)
    tenancy.read()
    return probe.trainings.members()


def test_processes_that_report_are_watched() -> None:
    """A client of a run is a training, whatever else computes on the host."""
    registry = RunRegistry()
    registry.open(SocketPeer(4321, 1000, 1), Hello(run="tiny"), 0.0)
    assert members(registry) == (4321,)


def test_without_gpus_and_clients_the_probe_searches() -> None:
    """If nothing is known, the probe looks for trainings by itself."""
    assert members(RunRegistry()) is None
    assert members(RunRegistry(), processes=False) is None


def test_on_a_host_with_gpus_nothing_is_searched(tmp_path: Path) -> None:
    """If a GPU driver answers, only a process that holds a GPU is a training."""
    settings = AgentSettings(nvml_library=str(start_standin(tmp_path, "steady", 1, pid=4321)))
    accelerators = build_accelerator_probes(settings)
    for accelerator in accelerators:
        if accelerator.name == "nvidia":
            accelerator.read()
    assert members(RunRegistry(), accelerators) == (4321,)


def test_with_processes_switched_off_there_is_no_probe() -> None:
    """The setting that forbids to read processes also forbids this probe."""
    names = [probe.name for probe in build_host_probes(AgentSettings(probes=ProbeSettings(processes=False)))]
    assert "training" not in names
    assert "cpu" in names
