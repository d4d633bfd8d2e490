"""Whether the host is a virtual machine or a container, and what a container may use."""

from pathlib import Path

from flyball_agent.inventory.cpu import parse_cpuinfo
from flyball_agent.probes.cgroup import METRICS, find_group
from flyball_agent.probes.files import read_text
from flyball_proto.v1 import telemetry_pb2 as pb

_MARKS = (("run/.containerenv", "podman"), (".dockerenv", "docker"), ("dev/.lxc-boot-id", "lxc"))
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
    """docker, podman, kubernetes, lxc …; empty: no container that can be seen."""
    groups = read_text(proc_root / "self/cgroup") or ""
    if (root / "var/run/secrets/kubernetes.io").exists():
        return "kubernetes"
    by_group = next((runtime for word, runtime in _GROUPS if f"/{word}" in groups), "")
    by_mark = next((runtime for path, runtime in _MARKS if (root / path).exists()), "")
    return by_group or by_mark


def virtual_machine(proc_root: Path, sys_root: Path) -> str:
    """kvm, vmware, xen …; `vm` when only the processor gives it away; empty: none seen."""
    if kind := read_text(sys_root / "hypervisor/type"):
        return kind
    if "hypervisor" not in parse_cpuinfo(read_text(proc_root / "cpuinfo") or "").get("flags", "").split():
        return ""
    dmi = sys_root / "class/dmi/id"
    named = " ".join(read_text(dmi / name) or "" for name in ("sys_vendor", "product_name", "bios_vendor")).lower()
    return next((kind for word, kind in _MACHINES if word in named), "vm")


def read_limits(runtime: str, proc_root: Path, sys_root: Path) -> pb.ContainerLimits:
    """What the enclosing control group allows; 0: no limit."""
    limits = pb.ContainerLimits(runtime=runtime)
    group = find_group(proc_root, sys_root)
    if group is not None:
        said = dict(zip((metric.name for metric in METRICS), group.values(), strict=True))
        limits.cpus = said["cgroup_cpu_limit_cores"] or 0
        limits.memory_bytes = int(said["cgroup_memory_limit_bytes"] or 0)
        limits.pids = int(said["cgroup_tasks_limit"] or 0)
    return limits
