"""Finds the jobs and pods that own the GPUs of a process, from a job-mapping directory and the kubelet."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from flyball_agent.runs.evidence import GpuOwners, Pod
from flyball_agent.runs.job_mapping import JobMappingFailed, read_job_mapping
from flyball_agent.runs.pod_resources import RETRY_SECONDS, PodResourcesFailed, Pods, list_pods
from flyball_proto.unavailable_reading import Reason, UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

_NO_OWNERS = GpuOwners()


class GpuOwnerReader:
    """Reads both sources. It never raises: a source that cannot be read is an unavailable reading."""

    def __init__(
        self,
        job_mapping: Path | None = None,
        pod_resources: Path | None = None,
        gpus: Callable[[], Sequence[pb.Gpu]] = list,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._job_mapping = job_mapping
        self._pod_resources = pod_resources
        self._gpus = gpus
        self._now = now
        self._jobs: Mapping[str, tuple[str, ...]] = {}  # by GPU or MIG instance
        self._pods: Pods = {}
        self._faults: dict[str, UnavailableReading] = {}
        self._retry_pods = float("-inf")

    @property
    def unavailable(self) -> tuple[UnavailableReading, ...]:
        """The sources that could not be read."""
        return tuple(self._faults.values())

    def refresh(self, *, in_pods: bool) -> bool:
        """Read the sources again; the kubelet only if processes are in pods. Return True if they have changed."""
        before = self._jobs, self._pods
        self._read_jobs()
        if in_pods:
            self._read_pods()
        return (self._jobs, self._pods) != before

    def of(self, gpus: Iterable[str]) -> GpuOwners:
        """Return the owners of the GPUs of one process."""
        if not self._jobs and not self._pods:
            return _NO_OWNERS
        held = list(gpus)
        jobs = {job: None for gpu in held for job in self._jobs.get(gpu, ())}
        pods: dict[Pod, None] = {pod: None for gpu in held for pod in self._pods.get(gpu, ())}
        return GpuOwners(tuple(jobs), tuple(pods))

    def _read_jobs(self) -> None:
        if self._job_mapping is None:
            return
        try:
            by_index = read_job_mapping(self._job_mapping)
        except JobMappingFailed as error:
            self._fail("job_mapping", str(error), "check probes.job_mapping_directory", denied=error.denied)
            self._jobs = {}
            return
        self._faults.pop("job_mapping", None)
        self._jobs = {
            name: by_index[gpu.index] for gpu in self._gpus() if gpu.index in by_index for name in _names(gpu)
        }

    def _read_pods(self) -> None:
        now = self._now()
        if self._pod_resources is None or now < self._retry_pods or not self._pod_resources.exists():
            return
        try:
            self._pods = list_pods(self._pod_resources)
        except PodResourcesFailed as error:
            self._fail("pod", str(error), "run the agent as root, or give it this socket", denied=error.denied)
            self._retry_pods = now + RETRY_SECONDS
            return
        self._faults.pop("pod", None)

    def _fail(self, metric: str, detail: str, remedy: str, *, denied: bool) -> None:
        reason = Reason.DENIED if denied else Reason.FAILED
        self._faults[metric] = UnavailableReading("tenancy", metric, "", reason, detail, remedy)


def _names(gpu: pb.Gpu) -> list[str]:
    return [gpu.uuid, *(instance.uuid for instance in gpu.mig_instances)]
