"""The environment variables that identify the run of a process. No other variable is ever kept."""

from collections.abc import Mapping

WANTED = frozenset({
    # set by the user
    "FLYBALL_LABELS", "FLYBALL_RUN",
    # torchrun and launchers that set the same variables
    "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "RANK", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID",
    "WORLD_SIZE",
    # Slurm
    "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_CLUSTER_NAME", "SLURM_JOB_ACCOUNT", "SLURM_JOB_ID",
    "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_PROCID",
    "SLURM_STEP_ID",
    # PBS, LSF with its launcher jsrun, Flux, Grid Engine
    "PBS_JOBID", "PBS_JOBNAME", "PBS_QUEUE", "PALS_RANKID",
    "LSB_JOBID", "LSB_JOBINDEX", "LSB_JOBNAME", "LSB_QUEUE", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE",
    "FLUX_JOB_ID", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", "FLUX_TASK_RANK",
    "JOB_ID", "JOB_NAME", "QUEUE", "SGE_TASK_ID",
    # Open MPI, and other launchers with PMI or PMIx
    "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_MCA_ess_base_jobid",
    "OMPI_MCA_orte_hnp_uri", "PMIX_NAMESPACE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE",
    # Kubernetes
    "HOSTNAME", "JOB_COMPLETION_INDEX", "NAMESPACE", "POD_NAME", "POD_NAMESPACE",
    # Ray, Weights & Biases
    "RAY_ADDRESS", "RAY_CLUSTER_NAME", "RAY_JOB_ID",
    "WANDB_NAME", "WANDB_PROJECT", "WANDB_RUN_ID", "WANDB_SWEEP_ID",
})  # fmt: skip
_MAX_LENGTH = 200
_MAX_LABELS_LENGTH = 2000
MAX_LABELS = 16
"""As many labels as a hello on the socket may have."""


def parse_environment(content: bytes) -> dict[str, str]:
    """Parse `/proc/<pid>/environ`."""
    found: dict[str, str] = {}
    for entry in content.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        key = name.decode("ascii", "replace")
        if equals and key in WANTED:
            found[key] = clean(value, _MAX_LABELS_LENGTH if key == "FLYBALL_LABELS" else _MAX_LENGTH)
    return found


def parse_labels(text: str) -> dict[str, str]:
    """Parse `key=value,key=value`. Parts without a key and a value are ignored."""
    labels: dict[str, str] = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        key, value = key.strip()[:60], value.strip()[:_MAX_LENGTH]
        if key and value and len(labels) < MAX_LABELS:
            labels[key] = value
    return labels


def whole_number(environment: Mapping[str, str], name: str) -> int | None:
    """Return a variable whose value is a number of 32 bits."""
    text = environment.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def clean(value: bytes, max_length: int = _MAX_LENGTH) -> str:
    """Return valid, printable and short text for bytes from a process."""
    text = value[: 4 * max_length].decode("utf-8", "replace")
    return "".join(character if character.isprintable() else " " for character in text)[:max_length].strip()
