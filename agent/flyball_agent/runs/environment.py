"""The few environment variables that say which run a process belongs to; no other one is ever kept."""

from collections.abc import Mapping

WANTED = frozenset({
    "JOB_COMPLETION_INDEX", "KUBERNETES_SERVICE_HOST", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "NAMESPACE",
    "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "POD_NAME", "POD_NAMESPACE",
    "RANK", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_CLUSTER_NAME", "SLURM_JOB_ACCOUNT", "SLURM_JOB_ID",
    "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_PROCID",
    "SLURM_STEP_ID", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID", "WORLD_SIZE", "HOSTNAME",
})  # fmt: skip
_LONGEST = 200


def parse_environment(content: bytes) -> dict[str, str]:
    """Read `/proc/<pid>/environ`."""
    found: dict[str, str] = {}
    for entry in content.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        key = name.decode("ascii", "replace")
        if equals and key in WANTED:
            found[key] = clean(value)
    return found


def whole_number(environment: Mapping[str, str], *names: str) -> int | None:
    """The first of these variables that holds a number of 32 bits."""
    for name in names:
        text = environment.get(name, "")
        if text.isascii() and text.isdecimal() and len(text) < 10:
            return int(text)
    return None


def clean(value: bytes, longest: int = _LONGEST) -> str:
    """Text of a process made harmless: valid, printable, short."""
    text = value[: 4 * longest].decode("utf-8", "replace")
    return "".join(character if character.isprintable() else " " for character in text)[:longest].strip()
