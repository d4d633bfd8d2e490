"""The run of a process by its launcher: torchrun, Open MPI, Ray, Weights & Biases."""

import re

from flyball_agent.runs.evidence import ProcessEvidence

_NO_RUN_ID = "none"  # torchrun's id of a run without a name
_UUID = re.compile(r"^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$")
_LOCAL = re.compile(r"^(localhost|127\.|0\.0\.0\.0|\[?::1|172\.17\.)")  # 172.17: Docker's bridge, the same on each host
_ENDPOINT = re.compile(r"tcp6?://\[?([^;,\]/]+?)\]?(?:,[^;:]*)?:(\d+)")


def is_local(address: str) -> bool:
    """Return True if an address names another machine on each host."""
    return _LOCAL.match(address) is not None


def place_of(evidence: ProcessEvidence) -> str:
    """Return where a local address is valid: this host, or a container on it."""
    container = evidence.cgroup.container[:12]
    return f"{evidence.host}:{container}" if container else evidence.host


def by_torchrun(evidence: ProcessEvidence) -> str:
    """Return the run id and where rank 0 is.

    People copy run ids such as 100 from examples, and so only a UUID is unique by itself.
    """
    environment = evidence.environment
    run, address = environment.get("TORCHELASTIC_RUN_ID", ""), environment.get("MASTER_ADDR", "")
    place = place_of(evidence) if not address or is_local(address) else address
    if run and run != _NO_RUN_ID:
        return f"torchrun-{run}" if _UUID.match(run) else f"torchrun-{run}@{place}"
    port = environment.get("MASTER_PORT")
    return f"torchrun-{place}:{port}" if address and port and "RANK" in environment else ""


def by_mpi(evidence: ProcessEvidence) -> str:
    """Return the namespace of PMIx or the job of Open MPI.

    Up to Open MPI 4 it is a number of 32 bits, made from a hash, and so the address of mpirun is added.
    """
    environment = evidence.environment
    if not {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"} & environment.keys():
        return ""
    job = environment.get("PMIX_NAMESPACE") or environment.get("OMPI_MCA_ess_base_jobid", "")
    if not job.isdecimal():
        return f"mpi-{job}" if job else ""
    head = _ENDPOINT.search(environment.get("OMPI_MCA_orte_hnp_uri", ""))
    return f"mpi-{job}@{head[1]}:{head[2]}" if head else f"mpi-{job}"


def by_ray(evidence: ProcessEvidence) -> str:
    """Return the Ray job and its cluster.

    Each cluster counts its jobs from 1, and its workers know its name only in Kubernetes.
    """
    environment = evidence.environment
    job, address = environment.get("RAY_JOB_ID"), environment.get("RAY_ADDRESS", "").removeprefix("ray://")
    if not job:
        return ""
    namespace = evidence.pod.namespace if evidence.pod else environment.get("POD_NAMESPACE", "")
    cluster = environment.get("RAY_CLUSTER_NAME", "")
    if cluster:
        return f"ray-{namespace}:{cluster}-{job}" if namespace else f"ray-{cluster}-{job}"
    return f"ray-{address if address and address != 'auto' and not is_local(address) else evidence.host}-{job}"


def by_wandb(evidence: ProcessEvidence) -> str:
    """Return the run of Weights & Biases, if the environment names it."""
    run, project = evidence.environment.get("WANDB_RUN_ID"), evidence.environment.get("WANDB_PROJECT")
    if not run:
        return ""
    return f"wandb-{project}:{run}" if project else f"wandb-{run}"
