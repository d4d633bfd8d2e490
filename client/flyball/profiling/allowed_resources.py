"""The CPUs and the memory that this process may use, by affinity and control groups (version 2)."""

import os
from pathlib import Path


def allowed_cpus(groups: list[Path]) -> float | None:
    """Return the number of CPUs that the process may use; None if unknown."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    quotas = [quota for group in groups if (quota := _quota(group)) is not None]
    return min([*quotas, *([float(affinity)] if affinity else [])], default=None)


def memory_use(groups: list[Path]) -> float | None:
    """Return the largest used share of a control group's memory limit; None without a limit.

    File pages that were not used recently do not count: the kernel takes them back before the limit is reached.
    """
    shares = []
    for group in groups:
        try:
            limit = int(_text(group / "memory.max"))
            used = int(_text(group / "memory.current"))
            lines = (line.split() for line in _text(group / "memory.stat").splitlines())
            cached = next((int(value) for name, value in lines if name == "inactive_file"), 0)
        except (OSError, ValueError):  # no limit is the word "max"
            continue
        if limit > 0:
            shares.append(max(used - cached, 0) / limit)
    return max(shares, default=None)


def own_groups(proc: Path = Path("/proc"), mounted: Path = Path("/sys/fs/cgroup")) -> list[Path]:
    """Return the control group of this process and those above it."""
    try:
        lines = _text(proc / "self" / "cgroup").splitlines()
        version_2 = (mounted / "cgroup.controllers").exists()
    except OSError:
        return []
    name = next((line[3:] for line in lines if line.startswith("0::")), None)
    if name is None or not version_2:
        return []
    group = mounted / name.lstrip("/")
    return [each for each in (group, *group.parents) if each == mounted or mounted in each.parents]


def _quota(group: Path) -> float | None:
    """Return the limit of a group in CPUs."""
    try:
        quota, period = _text(group / "cpu.max").split()
        return int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _text(path: Path) -> str:
    return path.read_text(encoding="ascii", errors="replace")
