"""The rank of a process in its run, from the variables of its launcher."""

from collections.abc import Mapping

from flyball_agent.runs.environment import whole_number
from flyball_agent.runs.evidence import ProcessEvidence

_LAUNCHERS = (
    ("RANK", "WORLD_SIZE"),  # torchrun first: its launcher is one task of Slurm or MPI with many ranks
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),  # jsrun of LSF
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("PMIX_RANK", ""),
    ("PALS_RANKID", ""),  # PBS on Cray
    ("JOB_COMPLETION_INDEX", ""),  # an indexed job of Kubernetes
)


def rank_of(evidence: ProcessEvidence) -> tuple[int, int]:
    """Return rank and world size. A world size of 0 is unknown."""
    client = evidence.client
    if client is not None and client.world_size:
        return client.rank, client.world_size
    return _of_launcher(evidence.environment)


def _of_launcher(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return both from one launcher, because the ranks of one do not fit the size of another."""
    for rank_name, size_name in _LAUNCHERS:
        rank = whole_number(environment, rank_name)
        if rank is not None:
            return rank, whole_number(environment, size_name) or 0
    return 0, 0
