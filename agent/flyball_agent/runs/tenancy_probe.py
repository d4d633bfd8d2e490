"""Looks who uses this host, beside the tick: reading `/proc/<pid>` can block while that process is in trouble."""

from collections.abc import Callable, Sequence

from flyball_agent.accelerators.protocol import Accelerator
from flyball_agent.probes.probe import Sample
from flyball_agent.runs.book import RunBook
from flyball_agent.runs.tenancy import TenancyReader
from flyball_proto.metric import Metric
from flyball_proto.v1 import telemetry_pb2 as pb


class TenancyProbe:
    """Has no readings of its own; `body` is what the newest finished look found, as it travels."""

    name = "tenancy"
    metrics: Sequence[Metric] = ()
    every_seconds = 1.0
    blocking = True

    def __init__(self, reader: TenancyReader, accelerators: Sequence[Accelerator], book: RunBook) -> None:
        self.body = b""
        self._reader = reader
        self._processes: Callable[[], list[pb.GpuProcess]] = lambda: processes_of(accelerators)
        self._book = book

    def read(self) -> Sample:
        self.body = self._reader.read_body(self._processes(), self._book.clients())
        return Sample((), (), self._reader.unavailable)


def processes_of(accelerators: Sequence[Accelerator]) -> list[pb.GpuProcess]:
    """Who used the devices at the newest readings."""
    return [process for accelerator in accelerators for process in accelerator.processes]
