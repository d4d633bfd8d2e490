"""Limits of the container around this process, and of the process itself."""

from flyball.host.hardware_parts import HostLimits
from flyball.host.kernel_numbers import read_count
from flyball.host.places import HostPlaces
from flyball.profiling.allowed_resources import own_groups
from flyball_agent.probes.cgroup import METRICS, ControlGroup, ControlGroupV2, find_group
from flyball_proto.v1 import telemetry_pb2 as pb


def read_limits(places: HostPlaces, inventory: pb.Inventory) -> HostLimits:
    """Return the limits; None means that there is none."""
    found = inventory.limits
    of_process = process_limits() if places.this_machine else (None, None, None)
    return HostLimits(
        runtime=found.runtime or None,
        virtualization=inventory.virtualization or None,
        cpus=found.cpus or None,
        memory_bytes=memory_limit(places, inventory),
        tasks=found.pids or None,
        open_files=of_process[0],
        processes=of_process[1],
        locked_memory_bytes=of_process[2],
    )


def memory_limit(places: HostPlaces, inventory: pb.Inventory) -> int | None:
    """Return the smallest memory limit of this control group and those above; None if the machine has less."""
    groups = own_groups(places.proc, places.sys / "fs/cgroup")
    limits = [inventory.limits.memory_bytes, *(read_count(group / "memory.max") for group in groups)]
    known = [each for each in limits if each]
    least = min(known, default=None)
    return least if least and (not inventory.memory_bytes or least < inventory.memory_bytes) else None


def memory_left(places: HostPlaces, limit_bytes: int | None) -> int | None:
    """Return what the control group and those above may still take; None without a limit.

    Cached files that can be dropped are free. A group whose use is unknown leaves at most the limit.
    """
    if limit_bytes is None:
        return None
    own = find_group(places.proc, places.sys)
    groups: list[ControlGroup] = [ControlGroupV2(each) for each in own_groups(places.proc, places.sys / "fs/cgroup")]
    least = limit_bytes
    for group in groups or ([own] if own else []):
        values = dict(zip((metric.name for metric in METRICS), group.values(), strict=True))
        limit, used = values["cgroup_memory_limit_bytes"], values["cgroup_memory_working_bytes"]
        if limit is not None and used is not None:
            least = min(least, max(0, int(limit - used)))
    return least


def process_limits() -> tuple[int | None, int | None, int | None]:
    """Return the limits of open files, processes and locked memory of this process."""
    try:
        import resource
    except ImportError:  # Windows
        return None, None, None
    found = []
    for name in ("RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_MEMLOCK"):
        soft = resource.getrlimit(getattr(resource, name))[0] if hasattr(resource, name) else resource.RLIM_INFINITY
        found.append(None if soft == resource.RLIM_INFINITY else soft)
    return found[0], found[1], found[2]
