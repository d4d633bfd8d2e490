"""The list of all host probes."""

from pathlib import Path

from flyball_agent.probes.cgroup import CgroupProbe
from flyball_agent.probes.clock_sync import ClockSyncProbe
from flyball_agent.probes.cpu import CpuProbe
from flyball_agent.probes.cpu_energy import CpuEnergyProbe
from flyball_agent.probes.cpu_frequency import CpuFrequencyProbe
from flyball_agent.probes.disk import DiskProbe
from flyball_agent.probes.disk_errors import DiskErrorProbe
from flyball_agent.probes.filesystem import FilesystemProbe
from flyball_agent.probes.host_root import below
from flyball_agent.probes.infiniband import InfinibandProbe
from flyball_agent.probes.kernel_limits import KernelLimitProbe
from flyball_agent.probes.latency import LatencyProbe
from flyball_agent.probes.lustre import LustreProbe
from flyball_agent.probes.memory import MemoryProbe
from flyball_agent.probes.memory_errors import MemoryErrorProbe
from flyball_agent.probes.network import NetworkProbe
from flyball_agent.probes.network_link import NetworkLinkProbe
from flyball_agent.probes.network_stack import NetworkStackProbe
from flyball_agent.probes.nfs import NfsProbe
from flyball_agent.probes.numa import NumaProbe
from flyball_agent.probes.nvme_health import NvmeHealthProbe
from flyball_agent.probes.paging import PagingProbe
from flyball_agent.probes.portable_probe import PortableProbe
from flyball_agent.probes.pressure import PressureProbe
from flyball_agent.probes.probe import Probe
from flyball_agent.probes.raid import RaidProbe
from flyball_agent.probes.round_trip import parse_target
from flyball_agent.probes.shared_memory import SharedMemoryProbe
from flyball_agent.probes.tcp import TcpProbe
from flyball_agent.probes.temperature import TemperatureProbe
from flyball_agent.probes.training.probe import TrainingProbe
from flyball_agent.settings import AgentSettings


def build_host_probes(settings: AgentSettings) -> list[Probe]:
    """Build the host probes that the settings do not disable. Raise `BadTarget` for an invalid latency target."""
    has_procfs = (Path(settings.proc_root) / "stat").exists()
    probes = linux_probes(settings) if has_procfs else portable_probes(settings)
    return [probe for probe in probes if probe.name not in settings.probes.disabled]


def linux_probes(settings: AgentSettings) -> list[Probe]:
    """Build the probes that read procfs and sysfs."""
    root, proc, sys = Path(settings.root), Path(settings.proc_root), Path(settings.sys_root)
    return [
        CpuProbe(proc),
        CpuFrequencyProbe(sys),
        MemoryProbe(proc),
        PagingProbe(proc),
        SharedMemoryProbe(below(root, "dev/shm")),
        NumaProbe(sys),
        PressureProbe(proc),
        CgroupProbe(proc, sys, root),
        DiskProbe(proc, sys),
        FilesystemProbe(proc, settings.probes.filesystems, root),
        NetworkProbe(proc),
        NetworkLinkProbe(sys),
        TcpProbe(proc),
        latency_probe(settings),
        InfinibandProbe(sys),
        TemperatureProbe(sys),
        CpuEnergyProbe(sys),
        KernelLimitProbe(proc),
        NetworkStackProbe(proc),
        NfsProbe(proc),
        LustreProbe(proc, sys),
        RaidProbe(proc),
        DiskErrorProbe(sys),
        NvmeHealthProbe(sys, below(root, "dev")),
        MemoryErrorProbe(sys),
        ClockSyncProbe(),
        *([TrainingProbe(proc)] if settings.probes.processes else []),
    ]


def portable_probes(settings: AgentSettings) -> list[Probe]:
    """Build the probes that work without procfs, for macOS and BSD."""
    return [
        PortableProbe(Path(settings.sys_root)),
        FilesystemProbe(Path(settings.proc_root), settings.probes.filesystems or ("/",)),
        latency_probe(settings),
    ]


def latency_probe(settings: AgentSettings) -> LatencyProbe:
    """Build the latency probe, which works on every system."""
    return LatencyProbe([parse_target(target) for target in settings.probes.latency_targets])
