"""The labels that the processes of a run have in common."""

from collections.abc import Iterable
from dataclasses import dataclass

from flyball_proto.v1 import telemetry_pb2 as pb

CLIENT = "client"
"""The source of a process that reports for a run itself."""

JOB = "job"
"""The label of a client's process with the run that its job has without a client."""

_OF_PROCESS = frozenset(
    {
        JOB,
        "container",
        "container_name",
        "local_rank",
        "mig_instance",
        "pod",
        "pod_uid",
        "slurm_step",
        "torchrun_restarts",
    }
)
"""Labels of a process rather than of its run."""


@dataclass(slots=True)
class CommonLabels:
    """The labels that processes of a run have in common.

    Those of clients count alone, because a process has more labels once its client has connected: the number of steps,
    and what the training has chosen. Those of a new attempt replace the older ones.
    """

    labels: dict[str, str] | None = None
    of_clients: bool = False
    attempt: int = 0

    def add(self, members: Iterable[pb.Member]) -> None:
        """Add processes."""
        for member in members:
            is_client = member.source == CLIENT
            if self.of_clients and not is_client:
                continue
            own = {label: value for label, value in member.labels.items() if label not in _OF_PROCESS}
            newer = (is_client, member.attempt) > (self.of_clients, self.attempt)
            known = None if newer else self.labels
            self.labels = own if known is None else dict(known.items() & own.items())
            if newer:
                self.of_clients, self.attempt = is_client, member.attempt
