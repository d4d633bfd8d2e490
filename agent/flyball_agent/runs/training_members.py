"""Names to the training probe the processes that are known to train."""

from collections.abc import Iterable, Sequence

from flyball_agent.accelerators.accelerator import Accelerator
from flyball_agent.accelerators.inventory import read_gpus
from flyball_agent.probes.probe import Probe
from flyball_agent.probes.training.probe import TrainingProbe
from flyball_agent.runs.tenancy_probe import TenancyProbe


def name_members(probes: Iterable[Probe], tenancy: TenancyProbe | None, accelerators: Sequence[Accelerator]) -> None:
    """Let the training probe watch what holds a GPU or reports for a run.

    On a host without both, it searches for trainings itself. On a host with GPUs, what holds none does not train.
    """

    def members() -> Sequence[int] | None:
        pids = tenancy.pids if tenancy is not None else ()
        return pids if pids or (tenancy is not None and read_gpus(accelerators)) else None

    for probe in probes:
        if isinstance(probe, TrainingProbe):
            probe.trainings.members = members
