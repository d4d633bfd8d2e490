"""The environment variables that identify the run of a process. No other variable is ever kept."""

from collections.abc import Mapping

WANTED = frozenset({
    "JOB_COMPLETION_INDEX", "KUBERNETES_SERVICE_HOST", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "NAMESPACE",
    "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "POD_NAME", "POD_NAMESPACE",
    "RANK", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_CLUSTER_NAME", "SLURM_JOB_ACCOUNT", "SLURM_JOB_ID",
    "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_PROCID",
    "SLURM_STEP_ID", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID", "WORLD_SIZE", "HOSTNAME",
})  # fmt: skip
_MAX_LENGTH = 200


def parse_environment(content: bytes) -> dict[str, str]:
    """Parse `/proc/<pid>/environ`."""
    found: dict[str, str] = {}
    for entry in content.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        key = name.decode("ascii", "replace")
        if equals and key in WANTED:
            found[key] = clean(value)
    return found


def whole_number(environment: Mapping[str, str], *names: str) -> int | None:
    """Return the first of these variables whose value is a number of 32 bits."""
    for name in names:
        text = environment.get(name, "")
        if text.isascii() and text.isdecimal() and len(text) < 10:
            return int(text)
    return None


def clean(value: bytes, max_length: int = _MAX_LENGTH) -> str:
    """Return valid, printable and short text for bytes from a process."""
    text = value[: 4 * max_length].decode("utf-8", "replace")
    return "".join(character if character.isprintable() else " " for character in text)[:max_length].strip()
