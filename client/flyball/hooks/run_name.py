"""The name of a run that was started without one: the same on all hosts of a job, and new for each job."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_JOBS = (
    (("SLURM_NTASKS", "SLURM_JOB_NUM_NODES"), ("SLURM_JOB_ID", "SLURM_STEP_ID")),
    (("OMPI_COMM_WORLD_SIZE",), ("PMIX_NAMESPACE",)),
    (("OMPI_COMM_WORLD_SIZE",), ("OMPI_MCA_ess_base_jobid",)),
    (("PMI_SIZE",), ("PBS_JOBID",)),
    (("PMI_SIZE",), ("LSB_JOBID",)),
    (("FLUX_JOB_SIZE", "FLUX_JOB_NNODES"), ("FLUX_JOB_ID",)),
    (("WORLD_SIZE",), ("TORCHELASTIC_RUN_ID",)),
    (("WORLD_SIZE",), ("MASTER_ADDR", "MASTER_PORT")),
)
"""Variables with the number of processes or hosts, and those whose values are the same in all of them."""

_MEETING = ("rdzv-id", "rdzv-endpoint", "master-addr", "main-process-ip")
"""Options of torchrun, accelerate and deepspeed with a value that all hosts share."""

_MEANINGLESS = ("", "none", "localhost", "127.0.0.1")


def run_name(command: Sequence[str], environment: Mapping[str, str], new_id: str) -> str:
    """Return a name from the script and the id of the job; `new_id` if the job has only one process that asks."""
    return f"{script_of(command)}-{_shared_id(command, environment) or new_id}"[:200]


def script_of(command: Sequence[str]) -> str:
    """Return the name of the script or module that a command runs; without one, that of the program."""
    for index, word in enumerate(command):
        if word == "-m" and index + 1 < len(command) and not _is_module_option(command, index):
            return _short(command[index + 1].rpartition(".")[2])
        if word.endswith((".py", ".sh")):
            return _short(_stem(word))
    return _short(_stem(command[0]) if command else "")


def _is_module_option(command: Sequence[str], index: int) -> bool:
    """Return True if `-m` only starts a launcher: `python -m torch.distributed.run train.py`."""
    launchers = ("torch.distributed", "accelerate.commands", "deepspeed.launcher", "torchrun")
    return command[index + 1].startswith(launchers)


def _stem(path: str) -> str:
    return re.sub(r"\.(py|sh)$", "", path.rpartition("/")[2])


def _short(word: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", word, flags=re.ASCII).strip("-")[:100] or "run"


def _shared_id(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return what all processes of the job share, if the command may be started in several."""
    for sizes, names in _JOBS:
        values = [environment.get(name, "") for name in names]
        if any(_is_many(environment.get(size, "")) for size in sizes) and values[0] not in _MEANINGLESS:
            return _short(".".join(value for value in values if value))
    if _hosts(command):
        for option in _MEETING:
            value = option_of(command, option)
            if value.partition(":")[0] not in _MEANINGLESS:
                return _short(value)
    return ""


def _hosts(command: Sequence[str]) -> bool:
    """Return True if options of a launcher ask for several hosts."""
    counts = [option_of(command, name) for name in ("nnodes", "num-machines", "num-nodes")]
    return any(_is_many(count.rpartition(":")[2]) for count in counts)  # torchrun's elastic form is MIN:MAX


def option_of(command: Sequence[str], name: str) -> str:
    """Return the value of an option of a launcher; each accepts hyphens and underscores."""
    for index, word in enumerate(command):
        option, has_value, value = word.partition("=")
        if option.startswith("--") and option[2:].replace("_", "-") == name:
            return value if has_value else "".join(command[index + 1 : index + 2])
    return ""


def _is_many(count: str) -> bool:
    return count.isascii() and count.isdecimal() and int(count) > 1
