"""The complete list of conditions that the diagnosis can report, with their meaning and their possible causes."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Severity(IntEnum):
    """The urgency of a condition."""

    INFO = 0
    WARNING = 1
    CRITICAL = 2

    @property
    def word(self) -> str:
        """The severity's name in lower case, for people and labels."""
        return self.name.lower()


class Group(StrEnum):
    """The class of a condition."""

    BOTTLENECK = "bottleneck"  # a resource limits the training
    RISK = "risk"  # something will break
    HEALTH = "health"  # something is broken
    RUN = "run"  # a run is slower than before, or a rank is slower than its peers
    DATA = "data"  # readings are missing or cannot be trusted


class Scope(StrEnum):
    """The type of a condition's subject."""

    HOST = "host"
    GPU = "gpu"
    RESOURCE = "resource"  # a mount, device or interface of a host
    RUN = "run"
    RANK = "rank"


@dataclass(frozen=True, slots=True)
class EventKind:
    """One kind of condition.

    A condition is raised after its entry level has held for `raise_after_seconds`. It is cleared after its value has
    been below the exit level for `clear_after_seconds`. While a kind in `explained_by` is active for the same host (for
    the same GPU if both name one; for the same run if neither names a host), the condition is not raised, and is
    cleared if active. If both cost time (`costs_time`: the level is a share of the training's time), this applies only
    unless the cause costs clearly less than the effect.

    A kind in `foretold_by` predicts this one: while it is active for the same host, this one has at least its severity.
    """

    name: str
    group: Group
    scope: Scope
    severity: Severity
    meaning: str
    raise_after_seconds: float = 0.0
    clear_after_seconds: float = 60.0
    explained_by: tuple[str, ...] = ()
    notifies: bool = True
    costs_time: bool = False
    foretold_by: tuple[str, ...] = ()


FAILURES = ("host_lost", "gpu_lost", "gpu_xid", "run_hang", "data_gap")
SLOWDOWNS = ("thermal_slowdown", "power_brake")
MEMORY_BOTTLENECKS = ("bottleneck_memory", "bottleneck_swap")
INPUT_BOTTLENECKS = (
    "bottleneck_cpu",
    "bottleneck_disk",
    "bottleneck_network",
    "bottleneck_service",
    "bottleneck_host",
)
_ABOVE_MEMORY = (*FAILURES, *SLOWDOWNS)
_ABOVE_INPUT = (*_ABOVE_MEMORY, *MEMORY_BOTTLENECKS)
_ABOVE_COMMUNICATION = (*_ABOVE_INPUT, *INPUT_BOTTLENECKS, "bottleneck_data_wait", "bottleneck_checkpoint")
_ABOVE_GPU = ("stuck_telemetry",)  # repeated readings do not show what limits a GPU
_MEASURE_USE = ("numa", "interconnect")  # like the kinds of GPUs, their level is use of a resource, not lost time
_ABOVE_BATCH = (
    *_ABOVE_GPU,
    *_ABOVE_COMMUNICATION,
    "bottleneck_communication",
    "bottleneck_pcie",
    "bottleneck_interconnect",
)


def _bottleneck(
    name: str, scope: Scope, meaning: str, explained_by: tuple[str, ...], raise_after_seconds: float = 4.0
) -> EventKind:
    measures_use = scope is Scope.GPU or name in _MEASURE_USE
    return EventKind(
        f"bottleneck_{name}",
        Group.BOTTLENECK,
        scope,
        Severity.INFO,
        meaning,
        raise_after_seconds=raise_after_seconds,
        clear_after_seconds=30.0,
        explained_by=explained_by,
        notifies=False,
        costs_time=not measures_use,
    )


BOTTLENECKS: tuple[EventKind, ...] = (
    _bottleneck("cpu", Scope.HOST, "Work waits for CPU time.", _ABOVE_MEMORY),
    _bottleneck(
        "memory", Scope.HOST, "Work waits while the kernel reclaims memory.", (*_ABOVE_MEMORY, "bottleneck_swap")
    ),
    _bottleneck("swap", Scope.HOST, "Work waits while pages are read from or written to swap.", _ABOVE_MEMORY),
    _bottleneck("disk", Scope.HOST, "Work waits for disk reads or writes.", _ABOVE_INPUT),
    _bottleneck("network", Scope.HOST, "Work waits for the network because of latency or a full link.", _ABOVE_INPUT),
    _bottleneck(
        "service",
        Scope.HOST,
        "Work waits for calls to a service: many small calls, one after the other.",
        _ABOVE_MEMORY,
    ),
    _bottleneck(
        "data_wait",
        Scope.HOST,
        "Steps wait for input, and no other bottleneck explains it.",
        (*_ABOVE_INPUT, *INPUT_BOTTLENECKS),
        7.0,
    ),
    _bottleneck(
        "host",
        Scope.HOST,
        "The CPU thread that launches the GPU's kernels is at its limit, often because of Python's interpreter lock.",
        _ABOVE_INPUT,
        10.0,
    ),
    _bottleneck(
        "sync", Scope.HOST, "The GPU and its host thread wait for each other at every step.", _ABOVE_INPUT, 10.0
    ),
    _bottleneck(
        "numa",
        Scope.HOST,
        "Many new memory pages are allocated on another CPU socket (NUMA node).",
        _ABOVE_COMMUNICATION,
        60.0,
    ),
    _bottleneck("checkpoint", Scope.HOST, "Training stops while checkpoints are written.", _ABOVE_INPUT, 30.0),
    _bottleneck("communication", Scope.RUN, "Steps wait for collectives.", _ABOVE_COMMUNICATION),
    _bottleneck("interconnect", Scope.HOST, "InfiniBand runs at its limit.", _ABOVE_COMMUNICATION, 10.0),
    _bottleneck(
        "pcie",
        Scope.GPU,
        "Transfers between host and GPU run at the PCIe link's limit.",
        (*_ABOVE_GPU, *_ABOVE_COMMUNICATION),
        10.0,
    ),
    _bottleneck(
        "gpu_compute",
        Scope.GPU,
        "The GPU computes all the time. This is the normal limit of a training.",
        _ABOVE_BATCH,
        120.0,
    ),
    _bottleneck("gpu_memory", Scope.GPU, "GPU memory bandwidth is the limit.", _ABOVE_BATCH, 15.0),
    _bottleneck(
        "small_batch", Scope.GPU, "The GPU is busy with kernels that are too small for it.", _ABOVE_BATCH, 15.0
    ),
    _bottleneck(
        "idle_gpu", Scope.GPU, "A GPU held by a run is idle, and no other condition explains it.", _ABOVE_BATCH, 30.0
    ),
    _bottleneck(
        "low_use",
        Scope.GPU,
        "A GPU works steadily, but only part of the time, and no other condition explains it.",
        (*_ABOVE_BATCH, "bottleneck_sync", "bottleneck_small_batch", "bottleneck_gpu_memory"),
        30.0,
    ),
)

RISKS: tuple[EventKind, ...] = (
    EventKind(
        "memory_exhaustion",
        Group.RISK,
        Scope.RESOURCE,
        Severity.CRITICAL,
        "Memory of a GPU, the host, a cgroup or /dev/shm will run out.",
        clear_after_seconds=30.0,
    ),
    EventKind(
        "memory_leak",
        Group.RISK,
        Scope.RESOURCE,
        Severity.WARNING,
        "Memory use grows steadily and is not released.",
        clear_after_seconds=600.0,
        explained_by=("memory_exhaustion",),
    ),
    EventKind(
        "thermal_slowdown",
        Group.RISK,
        Scope.GPU,
        Severity.CRITICAL,
        "A GPU is throttled by heat, or soon will be.",
        clear_after_seconds=60.0,
    ),
    EventKind(
        "disk_full",
        Group.RISK,
        Scope.RESOURCE,
        Severity.WARNING,
        "A file system is full, or soon will be.",
        clear_after_seconds=300.0,
    ),
    EventKind(
        "memory_pressure",
        Group.RISK,
        Scope.HOST,
        Severity.WARNING,
        "Tasks stall for lack of memory; the kernel may kill them.",
        raise_after_seconds=10.0,
        foretold_by=("memory_exhaustion",),
    ),
)

HEALTH: tuple[EventKind, ...] = (
    EventKind(
        "gpu_xid",
        Group.HEALTH,
        Scope.GPU,
        Severity.CRITICAL,
        "The driver reported an error (XID).",
        clear_after_seconds=600.0,
    ),
    EventKind("gpu_lost", Group.HEALTH, Scope.GPU, Severity.CRITICAL, "A GPU no longer responds."),
    EventKind("gpu_ecc", Group.HEALTH, Scope.GPU, Severity.CRITICAL, "A GPU has uncorrected memory errors."),
    EventKind(
        "gpu_row_remap",
        Group.HEALTH,
        Scope.GPU,
        Severity.WARNING,
        "A broken memory row of a GPU will be remapped at the next reset, or could not be remapped.",
    ),
    EventKind(
        "power_brake",
        Group.HEALTH,
        Scope.GPU,
        Severity.WARNING,
        "The power supply slows down a GPU (power brake).",
        raise_after_seconds=5.0,
    ),
    EventKind(
        "power_capped",
        Group.HEALTH,
        Scope.GPU,
        Severity.WARNING,
        "A GPU is at its power limit and slower than its peers, or than it was under a higher limit.",
        raise_after_seconds=30.0,
        explained_by=("thermal_slowdown", "power_brake"),
    ),
    EventKind(
        "cooling_outlier",
        Group.HEALTH,
        Scope.GPU,
        Severity.INFO,
        "A GPU is hotter than its peers under the same load.",
        raise_after_seconds=60.0,
    ),
    EventKind("nvlink_down", Group.HEALTH, Scope.GPU, Severity.WARNING, "NVLinks of a GPU are down or report errors."),
    EventKind(
        "pcie_degraded",
        Group.HEALTH,
        Scope.GPU,
        Severity.WARNING,
        "A GPU's PCIe link is slower under load than GPU and slot allow.",
        raise_after_seconds=30.0,
    ),
    EventKind(
        "infiniband_flap",
        Group.HEALTH,
        Scope.RESOURCE,
        Severity.WARNING,
        "An InfiniBand port is down, or goes down repeatedly.",
        clear_after_seconds=600.0,
    ),
    EventKind(
        "network_errors",
        Group.HEALTH,
        Scope.RESOURCE,
        Severity.WARNING,
        "A network interface drops or damages packets, or TCP retransmits many segments.",
        raise_after_seconds=30.0,
    ),
    EventKind(
        "filesystem_read_only",
        Group.HEALTH,
        Scope.RESOURCE,
        Severity.CRITICAL,
        "The kernel remounted a file system read-only.",
    ),
    EventKind(
        "oom_kill",
        Group.HEALTH,
        Scope.HOST,
        Severity.CRITICAL,
        "The kernel killed a process because memory ran out.",
        clear_after_seconds=600.0,
    ),
    EventKind(
        "co_tenant",
        Group.HEALTH,
        Scope.GPU,
        Severity.WARNING,
        "Another user's process uses memory or time of a GPU held by a run.",
        raise_after_seconds=10.0,
    ),
)

RUN: tuple[EventKind, ...] = (
    EventKind(
        "straggler",
        Group.RUN,
        Scope.RANK,
        Severity.WARNING,
        "One rank is slower than the others, and all ranks wait for it.",
        explained_by=FAILURES,
    ),
    EventKind(
        "fail_slow",
        Group.RUN,
        Scope.RANK,
        Severity.WARNING,
        "A rank has become slower than it was and does not recover.",
        explained_by=FAILURES,
    ),
    EventKind(
        "run_slow",
        Group.RUN,
        Scope.RUN,
        Severity.WARNING,
        "All ranks became slower together. No single rank is the cause.",
        explained_by=("straggler", "run_hang"),
    ),
    EventKind("run_hang", Group.RUN, Scope.RUN, Severity.CRITICAL, "A run no longer completes steps."),
    EventKind("slow_start", Group.RUN, Scope.RUN, Severity.WARNING, "A run holds GPUs but has not completed a step."),
    EventKind(
        "load_imbalance",
        Group.RUN,
        Scope.RUN,
        Severity.INFO,
        "Ranks get unequal amounts of work.",
        raise_after_seconds=60.0,
        explained_by=("straggler",),
    ),
    EventKind(
        "periodic_stalls",
        Group.RUN,
        Scope.RUN,
        Severity.INFO,
        "All ranks of a run stop again and again, in regular distance.",
        explained_by=("run_hang",),
        notifies=False,
    ),
    EventKind(
        "step_outliers",
        Group.RUN,
        Scope.RUN,
        Severity.INFO,
        "Single steps take many times as long as usual.",
        clear_after_seconds=300.0,
        explained_by=("periodic_stalls",),
        notifies=False,
    ),
    EventKind("loss_not_finite", Group.RUN, Scope.RUN, Severity.CRITICAL, "The loss is NaN or infinite."),
)

DATA: tuple[EventKind, ...] = (
    EventKind(
        "data_gap",
        Group.DATA,
        Scope.HOST,
        Severity.WARNING,
        "A host sends no records although its agent did not shut down.",
        explained_by=("host_lost",),
        clear_after_seconds=5.0,
    ),
    EventKind(
        "host_lost",
        Group.DATA,
        Scope.HOST,
        Severity.CRITICAL,
        "A host has no connection and sends no records.",
        clear_after_seconds=5.0,
    ),
    EventKind(
        "stuck_telemetry",
        Group.DATA,
        Scope.GPU,
        Severity.WARNING,
        "A GPU's readings are frozen: they are repeated, not measured.",
    ),
    EventKind(
        "gpu_not_reporting",
        Group.DATA,
        Scope.HOST,
        Severity.WARNING,
        "The GPU driver does not respond, or failed.",
        raise_after_seconds=30.0,
    ),
    EventKind(
        "clock_skew", Group.DATA, Scope.HOST, Severity.WARNING, "A host's clock is wrong.", raise_after_seconds=60.0
    ),
    EventKind("duplicate_host", Group.DATA, Scope.HOST, Severity.WARNING, "Two machines report under the same name."),
    EventKind(
        "agent_degraded",
        Group.DATA,
        Scope.HOST,
        Severity.WARNING,
        "An agent cannot write its spool (its buffer on disk), or loses records.",
        raise_after_seconds=10.0,
    ),
)

KINDS: tuple[EventKind, ...] = (*BOTTLENECKS, *RISKS, *HEALTH, *RUN, *DATA)

BY_NAME = {kind.name: kind for kind in KINDS}
