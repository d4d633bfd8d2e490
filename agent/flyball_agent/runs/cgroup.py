"""Extracts pod, container, Slurm job and systemd unit of a process from the path of its control group."""

import re
from dataclasses import dataclass

_POD = re.compile(r"pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12})")
_CONTAINER = re.compile(r"(?:^|[-/:])([0-9a-f]{64})(?:\.scope)?(?:/|$)")
_SLURM = re.compile(r"/(?:[^/]*_)?slurm[^/]*/(?:.*/)?job_(\d+)(?:/step_(\w+))?")
_SERVICE = re.compile(r"([^/]+\.service)")
_SYSTEM_SERVICE = re.compile(
    r"^(user@\d+|init|dbus|ssh|sshd|systemd-.*|docker|containerd|kubelet|slurmd|nvidia-.*|dcgm.*|flyball-agent|"
    r"display-manager|gdm\d?|lightdm|sddm)\.service$"
)


@dataclass(frozen=True, slots=True)
class CgroupFacts:
    """The facts in a control group's path; empty if it does not contain them."""

    pod_uid: str = ""
    container: str = ""
    slurm_job: str = ""
    slurm_step: str = ""
    unit: str = ""


def parse_cgroup(content: bytes) -> CgroupFacts:
    """Parse `/proc/<pid>/cgroup` of version 1 or 2, of any container runtime."""
    paths = [line.split(":", 2)[2] for line in content.decode("utf-8", "replace").splitlines() if line.count(":") >= 2]
    text = "\n".join(paths)
    slurm = _SLURM.search(text)
    return CgroupFacts(
        pod_uid=_first(_POD, text).replace("_", "-"),
        container=_container(paths),
        slurm_job=slurm.group(1) if slurm else "",
        slurm_step=(slurm.group(2) or "") if slurm else "",
        unit=_unit(paths),
    )


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found.group(1) if found else ""


def _container(paths: list[str]) -> str:
    """Return the innermost container; Kubernetes in Docker nests them."""
    found = [match for path in paths for match in _CONTAINER.findall(path)]
    return found[-1] if found else ""


def _unit(paths: list[str]) -> str:
    """Return the innermost service, except for user sessions and services of the system."""
    found = [match for path in paths for match in _SERVICE.findall(path) if not _SYSTEM_SERVICE.match(match)]
    return found[-1] if found else ""
