"""Detects virtual machines and containers, and reads the limits of a container."""

from pathlib import Path

from flyball_agent.inventory.cpu import parse_cpuinfo
from flyball_agent.probes.cgroup import METRICS, find_group
from flyball_agent.probes.files import read_text
from flyball_agent.probes.host_root import HOST, below, host_process
from flyball_proto.v1 import telemetry_pb2 as pb

_MARKER_FILES = (("run/.containerenv", "podman"), (".dockerenv", "docker"), ("dev/.lxc-boot-id", "lxc"))
_GROUPS = (
    ("kubepods", "kubernetes"),
    ("libpod", "podman"),
    ("docker", "docker"),
    ("lxc", "lxc"),
    ("garden", "garden"),
    ("slurm", "slurm"),
)
_MACHINES = (
    ("qemu", "kvm"),
    ("kvm", "kvm"),
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("virtual machine", "hyperv"),
    ("xen", "xen"),
    ("amazon ec2", "kvm"),
    ("google", "kvm"),
    ("openstack", "kvm"),
    ("bochs", "kvm"),
    ("parallels", "parallels"),
)


def container_runtime(root: Path, proc_root: Path) -> str:
    """Return docker, podman, kubernetes, lxc …, or an empty string if no container is detected."""
    groups = read_text(host_process(proc_root, root) / "cgroup") or ""
    if below(root, "var/run/secrets/kubernetes.io").exists():
        return "kubernetes"
    by_group = next((runtime for word, runtime in _GROUPS if f"/{word}" in groups), "")
    by_file = next((runtime for path, runtime in _MARKER_FILES if below(root, path).exists()), "")
    return by_group or by_file


def virtual_machine(proc_root: Path, sys_root: Path) -> str:
    """Return kvm, vmware, xen …, `vm` if only a CPU flag shows it, or an empty string."""
    if kind := read_text(sys_root / "hypervisor/type"):
        return kind
    if "hypervisor" not in parse_cpuinfo(read_text(proc_root / "cpuinfo") or "").get("flags", "").split():
        return ""
    dmi = sys_root / "class/dmi/id"
    names = " ".join(read_text(dmi / name) or "" for name in ("sys_vendor", "product_name", "bios_vendor")).lower()
    return next((kind for word, kind in _MACHINES if word in names), "vm")


def read_limits(runtime: str, proc_root: Path, sys_root: Path, root: Path = HOST) -> pb.ContainerLimits:
    """Return the limits of the control group around the agent; 0: no limit."""
    limits = pb.ContainerLimits(runtime=runtime)
    group = find_group(proc_root, sys_root, root)
    if group is not None:
        values = dict(zip((metric.name for metric in METRICS), group.values(), strict=True))
        limits.cpus = values["cgroup_cpu_limit_cores"] or 0
        limits.memory_bytes = int(values["cgroup_memory_limit_bytes"] or 0)
        limits.pids = int(values["cgroup_tasks_limit"] or 0)
    return limits
