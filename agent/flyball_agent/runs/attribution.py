"""Attributes a process to a run, from the best source: client, environment, scheduler, Kubernetes or launcher."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flyball_agent.runs.cgroup import parse_cgroup
from flyball_agent.runs.environment import clean, parse_environment, parse_labels
from flyball_agent.runs.evidence import GpuOwners, ProcessEvidence
from flyball_agent.runs.job_schedulers import (
    by_flux,
    by_grid_engine,
    by_job_mapping,
    by_lsf,
    by_pbs,
    by_slurm,
    slurm_step,
)
from flyball_agent.runs.kubernetes import by_kubernetes, pod_of
from flyball_agent.runs.launchers import by_mpi, by_ray, by_torchrun, by_wandb
from flyball_agent.runs.process_files import ProcessFiles
from flyball_agent.runs.ranks import rank_of
from flyball_agent.runs.registry import ReportingProcess

JOB = "job"
"""The label of a client's process with the run that it would have without a client. Other ranks may have no client."""

_NO_OWNERS = GpuOwners()
_COPIED_LABELS = {
    "SLURM_JOB_NAME": "slurm_job_name",
    "SLURM_JOB_PARTITION": "slurm_partition",
    "SLURM_JOB_ACCOUNT": "slurm_account",
    "SLURM_CLUSTER_NAME": "slurm_cluster",
    "PBS_JOBID": "pbs_job",
    "PBS_JOBNAME": "pbs_job_name",
    "PBS_QUEUE": "pbs_queue",
    "LSB_JOBID": "lsf_job",
    "LSB_JOBNAME": "lsf_job_name",
    "LSB_QUEUE": "lsf_queue",
    "FLUX_JOB_ID": "flux_job",
    "PMIX_NAMESPACE": "pmix_namespace",
    "RAY_JOB_ID": "ray_job",
    "TORCHELASTIC_RUN_ID": "torchrun_id",
    "TORCHELASTIC_RESTART_COUNT": "torchrun_restarts",
    "LOCAL_RANK": "local_rank",
    "WANDB_RUN_ID": "wandb_run",
    "WANDB_NAME": "wandb_name",
    "WANDB_PROJECT": "wandb_project",
    "WANDB_SWEEP_ID": "wandb_sweep",
}


@dataclass(frozen=True, slots=True)
class Attribution:
    """The run of a process, and its rank in it. An empty run means unknown."""

    source: str
    run: str = ""
    rank: int = 0
    world_size: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)


def attribute(
    files: ProcessFiles, client: ReportingProcess | None = None, *, host: str = "", owners: GpuOwners = _NO_OWNERS
) -> Attribution:
    """Return the run from the first source that knows it, with the labels from all sources."""
    evidence = ProcessEvidence(
        host, parse_environment(files.environ or b""), parse_cgroup(files.cgroup), client, owners
    )
    source, run = _first(_SOURCES, evidence)
    labels = _labels(evidence)
    if source == "client" and (job := _first(_SOURCES[1:], evidence)[1]):
        labels[JOB] = job
    return Attribution(source, run, *(rank_of(evidence) if run else (0, 0)), labels)


def _first(
    sources: tuple[tuple[str, Callable[[ProcessEvidence], str]], ...], evidence: ProcessEvidence
) -> tuple[str, str]:
    for source, find in sources:
        if run := find(evidence):
            return source, run
    return "process", ""


def _by_client(evidence: ProcessEvidence) -> str:
    return clean(evidence.client.run.encode()) if evidence.client is not None else ""


def _by_environment(evidence: ProcessEvidence) -> str:
    """Return the name that the user has chosen."""
    return evidence.environment.get("FLYBALL_RUN", "")


def _by_cgroup(evidence: ProcessEvidence) -> str:
    """Return the container, or the unit of this host: units of one name exist on many hosts."""
    if evidence.cgroup.container:
        return f"container-{evidence.cgroup.container[:12]}"
    unit = clean(evidence.cgroup.unit.encode())
    return f"unit-{evidence.host}:{unit}" if unit else ""


_SOURCES: tuple[tuple[str, Callable[[ProcessEvidence], str]], ...] = (
    ("client", _by_client),
    ("environment", _by_environment),
    ("slurm", by_slurm),
    ("pbs", by_pbs),
    ("lsf", by_lsf),
    ("flux", by_flux),
    ("grid_engine", by_grid_engine),
    ("job_mapping", by_job_mapping),
    ("ray", by_ray),  # before Kubernetes: a job of Ray has workers in many pods
    ("kubernetes", by_kubernetes),
    ("torchrun", by_torchrun),
    ("mpi", by_mpi),
    ("wandb", by_wandb),
    ("cgroup", _by_cgroup),
)


def _labels(evidence: ProcessEvidence) -> dict[str, str]:
    """Return the labels of the client or the environment, and the facts, which they cannot override."""
    client, chosen = evidence.client, evidence.environment.get("FLYBALL_LABELS", "")
    labels = parse_labels(chosen) | (dict(client.labels) if client is not None else {})
    facts = {label: evidence.environment.get(name, "") for name, label in _COPIED_LABELS.items()}
    facts |= _slurm_labels(evidence) | _grid_engine_labels(evidence) | _container_labels(evidence)
    facts["mapped_jobs"] = ",".join(evidence.owners.jobs)
    return labels | {label: value for label, value in facts.items() if value}


def _slurm_labels(evidence: ProcessEvidence) -> dict[str, str]:
    environment, cgroup = evidence.environment, evidence.cgroup
    return {
        "slurm_job": environment.get("SLURM_JOB_ID") or cgroup.slurm_job,
        "slurm_step": slurm_step(environment.get("SLURM_STEP_ID") or cgroup.slurm_step),
    }


def _grid_engine_labels(evidence: ProcessEvidence) -> dict[str, str]:
    """Return the labels of a Grid Engine job. Its variables have general names."""
    if not by_grid_engine(evidence):
        return {}
    environment = evidence.environment
    return {
        "sge_job": environment["JOB_ID"],
        "sge_job_name": environment.get("JOB_NAME", ""),
        "sge_queue": environment.get("QUEUE", ""),
    }


def _container_labels(evidence: ProcessEvidence) -> dict[str, str]:
    cgroup = evidence.cgroup
    labels = {"container": cgroup.container[:12], "unit": clean(cgroup.unit.encode())}
    if cgroup.pod_uid:
        namespace, pod = pod_of(evidence)
        labels |= {
            "pod_uid": cgroup.pod_uid,
            "pod": pod or evidence.environment.get("HOSTNAME", ""),
            "namespace": namespace,
            "container_name": evidence.pod.container if evidence.pod is not None else "",
        }
    return labels
