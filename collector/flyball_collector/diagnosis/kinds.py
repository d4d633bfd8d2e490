"""The closed list of what diagnosis can say: every kind of condition, what it means, and what explains it away."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Severity(IntEnum):
    """How much of a person's attention it wants."""

    INFO = 0
    WARNING = 1
    CRITICAL = 2

    @property
    def word(self) -> str:
        """For people and labels."""
        return self.name.lower()


class Group(StrEnum):
    """What sort of statement it is."""

    BOTTLENECK = "bottleneck"  # a resource bounds the training
    RISK = "risk"  # something will break
    HEALTH = "health"  # something is broken
    RUN = "run"  # a run does not go as it did, or as its peers
    DATA = "data"  # what we see is not to be trusted, or missing


class Scope(StrEnum):
    """What its subjects are."""

    HOST = "host"
    GPU = "gpu"
    RESOURCE = "resource"  # a mount, device or interface of a host
    RUN = "run"
    RANK = "rank"


@dataclass(frozen=True, slots=True)
class EventKind:
    """One kind of condition.

    It is raised when its entry level has held for `raise_after_seconds`, and cleared when its exit level has been left
    for `clear_after_seconds`. It is not raised, and ends, while a kind of `explained_by` stands for the same host (the
    same GPU where both name one; the same run where neither names a host). Where both cost time (`costs_time`: the
    level is a share of the training's), not while the explanation costs clearly less.
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


_BROKEN = ("host_lost", "gpu_lost", "gpu_xid", "run_hang", "data_gap")
_SLOWED = ("thermal_slowdown", "power_brake")
_ABOVE_MEMORY = (*_BROKEN, *_SLOWED)
_ABOVE_INPUT = (*_ABOVE_MEMORY, "bottleneck_memory", "bottleneck_swap")
_INPUT = ("bottleneck_cpu", "bottleneck_disk", "bottleneck_network", "bottleneck_service", "bottleneck_host")
_ABOVE_COMMUNICATION = (*_ABOVE_INPUT, *_INPUT, "bottleneck_data_wait", "bottleneck_checkpoint")
_ABOVE_GPU = ("stuck_telemetry",)  # readings that are repeated say nothing of what bounds it
_OF_USE = ("numa", "interconnect")  # as for GPUs, their levels tell how much of something is used: that may be no loss
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
    of_use = scope is Scope.GPU or name in _OF_USE
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
        costs_time=not of_use,
    )


BOTTLENECKS: tuple[EventKind, ...] = (
    _bottleneck("cpu", Scope.HOST, "Work waits for processor time.", _ABOVE_MEMORY),
    _bottleneck(
        "memory", Scope.HOST, "Work waits while the kernel looks for memory.", (*_ABOVE_MEMORY, "bottleneck_swap")
    ),
    _bottleneck("swap", Scope.HOST, "Pages travel to and from swap while work waits for them.", _ABOVE_MEMORY),
    _bottleneck("disk", Scope.HOST, "Work waits for reads or writes of a disk.", _ABOVE_INPUT),
    _bottleneck(
        "network", Scope.HOST, "Work waits for the network: its latency, or a link that is full.", _ABOVE_INPUT
    ),
    _bottleneck(
        "service", Scope.HOST, "Work waits for many small calls to a service, one after the other.", _ABOVE_INPUT
    ),
    _bottleneck(
        "data_wait", Scope.HOST, "Steps wait for their input; why is not known.", (*_ABOVE_INPUT, *_INPUT), 7.0
    ),
    _bottleneck(
        "host",
        Scope.HOST,
        "One thread prepares the GPU's work and is at its limit (interpreter lock).",
        _ABOVE_INPUT,
        10.0,
    ),
    _bottleneck(
        "sync", Scope.HOST, "The GPU and its host thread wait for each other at every step.", _ABOVE_INPUT, 10.0
    ),
    _bottleneck(
        "numa", Scope.HOST, "Much of the memory traffic crosses to the other socket.", _ABOVE_COMMUNICATION, 60.0
    ),
    _bottleneck("checkpoint", Scope.HOST, "Training stands while checkpoints are written.", _ABOVE_INPUT, 30.0),
    _bottleneck("communication", Scope.RUN, "Steps wait for collectives.", _ABOVE_COMMUNICATION),
    _bottleneck("interconnect", Scope.HOST, "NVLink or InfiniBand runs at its limit.", _ABOVE_COMMUNICATION, 10.0),
    _bottleneck(
        "pcie",
        Scope.GPU,
        "Transfers between host and GPU run at the link's limit.",
        (*_ABOVE_GPU, *_ABOVE_COMMUNICATION),
        10.0,
    ),
    _bottleneck(
        "gpu_compute",
        Scope.GPU,
        "The GPU computes all the time: what a training should be bound by.",
        _ABOVE_BATCH,
        120.0,
    ),
    _bottleneck("gpu_memory", Scope.GPU, "The GPU's memory bandwidth is the limit.", _ABOVE_BATCH, 15.0),
    _bottleneck("small_batch", Scope.GPU, "The GPU is busy with kernels too small for it.", _ABOVE_BATCH, 15.0),
    _bottleneck(
        "idle_gpu", Scope.GPU, "A GPU that a run holds does nothing, and nothing else explains it.", _ABOVE_BATCH, 30.0
    ),
)

RISKS: tuple[EventKind, ...] = (
    EventKind(
        "memory_exhaustion",
        Group.RISK,
        Scope.RESOURCE,
        Severity.CRITICAL,
        "Memory (of a GPU, the host, a cgroup or /dev/shm) will be used up.",
        clear_after_seconds=120.0,
    ),
    EventKind(
        "memory_leak",
        Group.RISK,
        Scope.RESOURCE,
        Severity.WARNING,
        "Memory grows steadily and is not given back.",
        clear_after_seconds=600.0,
        explained_by=("memory_exhaustion",),
    ),
    EventKind(
        "thermal_slowdown",
        Group.RISK,
        Scope.GPU,
        Severity.CRITICAL,
        "A GPU is about to be, or is, slowed down by its temperature.",
        clear_after_seconds=60.0,
    ),
    EventKind(
        "disk_full",
        Group.RISK,
        Scope.RESOURCE,
        Severity.WARNING,
        "A file system is full, or will be.",
        clear_after_seconds=300.0,
    ),
    EventKind(
        "memory_pressure",
        Group.RISK,
        Scope.HOST,
        Severity.WARNING,
        "Work stalls for want of memory so much that the kernel may kill it.",
        raise_after_seconds=10.0,
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
    EventKind("gpu_lost", Group.HEALTH, Scope.GPU, Severity.CRITICAL, "A GPU no longer answers."),
    EventKind("gpu_ecc", Group.HEALTH, Scope.GPU, Severity.CRITICAL, "Uncorrected memory errors of a GPU."),
    EventKind(
        "gpu_row_remap",
        Group.HEALTH,
        Scope.GPU,
        Severity.WARNING,
        "A GPU's memory row waits to be remapped, or could not be.",
    ),
    EventKind(
        "power_brake",
        Group.HEALTH,
        Scope.GPU,
        Severity.WARNING,
        "The power supply slows a GPU down.",
        raise_after_seconds=5.0,
    ),
    EventKind(
        "power_capped",
        Group.HEALTH,
        Scope.GPU,
        Severity.WARNING,
        "A GPU is held at its power limit and is slower than its peers for it.",
        raise_after_seconds=30.0,
        explained_by=("thermal_slowdown", "power_brake"),
    ),
    EventKind(
        "cooling_outlier",
        Group.HEALTH,
        Scope.GPU,
        Severity.INFO,
        "A GPU is hotter than its peers at equal work.",
        raise_after_seconds=60.0,
    ),
    EventKind("nvlink_down", Group.HEALTH, Scope.GPU, Severity.WARNING, "NVLinks of a GPU are down or report errors."),
    EventKind(
        "pcie_degraded",
        Group.HEALTH,
        Scope.GPU,
        Severity.WARNING,
        "A GPU's PCIe link is slower than it could be, under load.",
        raise_after_seconds=30.0,
    ),
    EventKind(
        "infiniband_flap",
        Group.HEALTH,
        Scope.RESOURCE,
        Severity.WARNING,
        "An InfiniBand port goes down again and again.",
        clear_after_seconds=600.0,
    ),
    EventKind(
        "network_errors",
        Group.HEALTH,
        Scope.RESOURCE,
        Severity.WARNING,
        "An interface loses or damages packets.",
        raise_after_seconds=30.0,
    ),
    EventKind(
        "filesystem_read_only",
        Group.HEALTH,
        Scope.RESOURCE,
        Severity.CRITICAL,
        "The kernel has withdrawn the right to write a file system.",
    ),
    EventKind(
        "oom_kill",
        Group.HEALTH,
        Scope.HOST,
        Severity.CRITICAL,
        "The kernel killed a process for want of memory.",
        clear_after_seconds=600.0,
    ),
    EventKind(
        "co_tenant",
        Group.HEALTH,
        Scope.GPU,
        Severity.WARNING,
        "Another user's process takes memory or time of a GPU that a run holds.",
        raise_after_seconds=10.0,
    ),
)

RUN: tuple[EventKind, ...] = (
    EventKind(
        "straggler",
        Group.RUN,
        Scope.RANK,
        Severity.WARNING,
        "One rank is slower than the others, and holds them up.",
        explained_by=_BROKEN,
    ),
    EventKind(
        "fail_slow",
        Group.RUN,
        Scope.RANK,
        Severity.WARNING,
        "A rank became slower than it was, and stays so.",
        explained_by=_BROKEN,
    ),
    EventKind(
        "run_slow",
        Group.RUN,
        Scope.RUN,
        Severity.WARNING,
        "All ranks became slower together; nobody alone is to blame.",
        explained_by=("straggler", "run_hang"),
    ),
    EventKind("run_hang", Group.RUN, Scope.RUN, Severity.CRITICAL, "No step ends any more."),
    EventKind("slow_start", Group.RUN, Scope.RUN, Severity.WARNING, "A run holds GPUs and has not made a step."),
    EventKind(
        "load_imbalance",
        Group.RUN,
        Scope.RUN,
        Severity.INFO,
        "Ranks are given unequal work.",
        raise_after_seconds=60.0,
        explained_by=("straggler",),
    ),
    EventKind(
        "step_outliers",
        Group.RUN,
        Scope.RUN,
        Severity.INFO,
        "Single steps take many times the usual.",
        clear_after_seconds=300.0,
        notifies=False,
    ),
    EventKind("loss_not_finite", Group.RUN, Scope.RUN, Severity.CRITICAL, "The loss is no number."),
)

DATA: tuple[EventKind, ...] = (
    EventKind(
        "data_gap",
        Group.DATA,
        Scope.HOST,
        Severity.WARNING,
        "No record of a host came although its agent did not say goodbye.",
        explained_by=("host_lost",),
        clear_after_seconds=5.0,
    ),
    EventKind(
        "host_lost",
        Group.DATA,
        Scope.HOST,
        Severity.CRITICAL,
        "A host is gone: neither records nor a connection.",
        clear_after_seconds=5.0,
    ),
    EventKind(
        "stuck_telemetry",
        Group.DATA,
        Scope.GPU,
        Severity.WARNING,
        "A GPU's readings stand still: they are repeated, not measured.",
    ),
    EventKind(
        "gpu_not_reporting",
        Group.DATA,
        Scope.HOST,
        Severity.WARNING,
        "The GPU driver does not answer, or failed.",
        raise_after_seconds=30.0,
    ),
    EventKind(
        "clock_skew", Group.DATA, Scope.HOST, Severity.WARNING, "A host's clock is wrong.", raise_after_seconds=60.0
    ),
    EventKind("duplicate_host", Group.DATA, Scope.HOST, Severity.WARNING, "Two machines report under one name."),
    EventKind(
        "agent_degraded",
        Group.DATA,
        Scope.HOST,
        Severity.WARNING,
        "An agent cannot write its spool, or loses records.",
        raise_after_seconds=10.0,
    ),
)

KINDS: tuple[EventKind, ...] = (*BOTTLENECKS, *RISKS, *HEALTH, *RUN, *DATA)

BY_NAME = {kind.name: kind for kind in KINDS}
