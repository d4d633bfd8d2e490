"""The place of this process in its run, from the variables of its launcher or scheduler."""

from __future__ import annotations

from flyball.training.texts import MAX_RANK, MAX_SHORT_NAME, clean, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_LABELS = 16
"""As many as the agent accepts."""

LAUNCHERS = (
    ("RANK", "WORLD_SIZE"),  # torchrun first: its launcher is one task of Slurm or MPI with many ranks
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("PMIX_RANK", ""),
    ("PALS_RANKID", ""),
    ("JOB_COMPLETION_INDEX", ""),
)
"""The variables of rank and world size. The agent reads the same ones, in the same order."""

_ATTEMPTS = ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT")
_OWN_ATTEMPT = "FLYBALL_ATTEMPT"  # `flyball run --max-restarts` counts its starts, and torchrun's those within one
_GROUPS = (
    "TORCHELASTIC_RUN_ID",
    "SLURM_JOB_ID",
    "PMIX_NAMESPACE",
    "OMPI_MCA_ess_base_jobid",
    "RAY_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "FLUX_JOB_ID",
    "POD_NAME",
)
_NO_GROUP = "none"  # torchrun's id of a run without a name


class Identity:
    """Rank, world size, attempt, and the group of processes that run together."""

    __slots__ = ("attempt", "group", "rank", "world_size")

    def __init__(self, rank: int, world_size: int, attempt: int, group: str) -> None:
        self.rank = rank
        self.world_size = world_size
        self.attempt = attempt
        self.group = group


def identify(environment: Mapping[str, str], rank: object = None, world_size: object = None) -> Identity:
    """Return the identity of this process. What the caller passes comes first."""
    found_rank, found_size = _of_launcher(environment)
    rank = whole_number(rank, MAX_RANK)
    size = whole_number(world_size, MAX_RANK)
    if rank is None:
        rank = found_rank
    if size is None:
        size = found_size
    return Identity(rank, max(size, rank + 1), _attempt(environment), _group(environment))


def script_name(environment: Mapping[str, str], main_file: str) -> str:
    """Return a name for a run that has none: the one in the environment, or that of the script."""
    chosen = clean(environment.get("FLYBALL_RUN", ""))
    if chosen:
        return chosen
    file = main_file.replace("\\", "/").rpartition("/")[2]
    return clean(file.removesuffix(".py")) or "run"


def all_labels(labels: object, environment: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """Return the labels of the caller and of `FLYBALL_LABELS`, and the number of those that were dropped or cut."""
    given: dict[object, object] = {}
    for part in environment.get("FLYBALL_LABELS", "").split(","):
        key, _, value = part.partition("=")
        given[key.strip()] = value.strip()
    given.pop("", None)
    given.update(dict(labels))  # type: ignore[call-overload]  # what is not a mapping raises
    found: dict[str, str] = {}
    dropped = 0
    for label, content in given.items():
        name, text = clean(label, MAX_SHORT_NAME), clean("" if content is None else content)
        if name and text and len(found) < MAX_LABELS:
            found[name] = text
            dropped += name != str(label) or text != str(content)
        else:
            dropped += 1
    return found, dropped


def _of_launcher(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return both from one launcher, because the ranks of one do not fit the size of another."""
    for rank_name, size_name in LAUNCHERS:
        rank = whole_number(environment.get(rank_name, ""), MAX_RANK - 1)
        if rank is not None:
            return rank, whole_number(environment.get(size_name, ""), MAX_RANK) or 0
    return 0, 0


def _attempt(environment: Mapping[str, str]) -> int:
    counts = [whole_number(environment.get(name, ""), MAX_RANK - 1) for name in _ATTEMPTS]
    own = whole_number(environment.get(_OWN_ATTEMPT, ""), MAX_RANK - 1)
    return min(max([count or 0 for count in counts]) + (own or 0), MAX_RANK - 1)


def _group(environment: Mapping[str, str]) -> str:
    for name in _GROUPS:
        group = clean(environment.get(name, ""))
        if group and group != _NO_GROUP:
            return group
    return ""
