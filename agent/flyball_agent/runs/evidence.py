"""Evidence of the run of one process."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from flyball_agent.runs.cgroup import CgroupFacts
from flyball_agent.runs.registry import ReportingProcess


@dataclass(frozen=True, slots=True, order=True)
class Pod:
    """A pod and one of its containers, as the kubelet names them."""

    namespace: str
    name: str
    container: str


@dataclass(frozen=True, slots=True)
class GpuOwners:
    """The jobs and pods to which the GPUs of one process are assigned."""

    jobs: tuple[str, ...] = ()
    pods: tuple[Pod, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessEvidence:
    """The environment, control group and client of a process, and who owns its GPUs."""

    host: str
    environment: Mapping[str, str]
    cgroup: CgroupFacts
    client: ReportingProcess | None = None
    owners: GpuOwners = field(default_factory=GpuOwners)

    @property
    def pod(self) -> Pod | None:
        """The pod of the process, if the kubelet assigns its GPUs to one pod, or names one like its host name."""
        pods = self.owners.pods
        if not self.cgroup.pod_uid or not pods:
            return None
        hostname = self.environment.get("HOSTNAME", "")  # the name of the pod, unless the pod changes it
        return pods[0] if len(pods) == 1 else next((pod for pod in pods if pod.name == hostname), None)
