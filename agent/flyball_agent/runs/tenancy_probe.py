"""Reads who uses this host, as a blocking probe: reading `/proc/<pid>` can hang if that process hangs in the kernel."""

from collections.abc import Callable, Sequence
from pathlib import Path

from flyball_agent.accelerators.accelerator import Accelerator
from flyball_agent.accelerators.inventory import read_gpus
from flyball_agent.probes.host_root import below
from flyball_agent.probes.probe import ProbeSample
from flyball_agent.runs.gpu_owners import GpuOwnerReader
from flyball_agent.runs.registry import RunRegistry
from flyball_agent.runs.tenancy import TenancyReader
from flyball_agent.settings import AgentSettings
from flyball_proto.metric import Metric
from flyball_proto.v1 import telemetry_pb2 as pb


class TenancyProbe:
    """A probe without metrics. `body` is the encoded result of the newest finished reading, `pids` its processes."""

    name = "tenancy"
    metrics: Sequence[Metric] = ()
    every_seconds = 1.0
    blocking = True

    def __init__(self, reader: TenancyReader, accelerators: Sequence[Accelerator], registry: RunRegistry) -> None:
        self.body = b""
        self.pids: tuple[int, ...] = ()
        self._reader = reader
        self._processes: Callable[[], list[pb.GpuProcess]] = lambda: processes_of(accelerators)
        self._registry = registry

    def read(self) -> ProbeSample:
        self.body = self._reader.read_body(self._processes(), self._registry.take_clients())
        self.pids = self._reader.pids
        return ProbeSample((), (), self._reader.unavailable)


def processes_of(accelerators: Sequence[Accelerator]) -> list[pb.GpuProcess]:
    """Return the processes on the accelerators, as of their newest readings."""
    return [process for accelerator in accelerators for process in accelerator.processes]


def tenancy_reader(settings: AgentSettings, host: str, accelerators: Sequence[Accelerator]) -> TenancyReader:
    """Build the reader with the sources that the settings name."""
    mapping, socket = settings.probes.job_mapping_directory, settings.probes.pod_resources_socket
    owners = GpuOwnerReader(
        Path(mapping) if mapping else None, Path(socket) if socket else None, lambda: read_gpus(accelerators)
    )
    passwd = below(Path(settings.root), "etc/passwd")
    return TenancyReader(Path(settings.proc_root), passwd, host=host, owners=owners)
