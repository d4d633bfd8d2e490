"""Every probe of the host, one line each."""

from pathlib import Path

from flyball_agent.probes.cgroup import CgroupProbe
from flyball_agent.probes.cpu import CpuProbe
from flyball_agent.probes.cpu_energy import CpuEnergyProbe
from flyball_agent.probes.cpu_frequency import CpuFrequencyProbe
from flyball_agent.probes.disk import DiskProbe
from flyball_agent.probes.filesystem import FilesystemProbe
from flyball_agent.probes.infiniband import InfinibandProbe
from flyball_agent.probes.latency import LatencyProbe
from flyball_agent.probes.memory import MemoryProbe
from flyball_agent.probes.network import NetworkProbe
from flyball_agent.probes.network_link import NetworkLinkProbe
from flyball_agent.probes.numa import NumaProbe
from flyball_agent.probes.paging import PagingProbe
from flyball_agent.probes.pressure import PressureProbe
from flyball_agent.probes.probe import Probe
from flyball_agent.probes.round_trip import parse_target
from flyball_agent.probes.shared_memory import SharedMemoryProbe
from flyball_agent.probes.tcp import TcpProbe
from flyball_agent.probes.temperature import TemperatureProbe
from flyball_agent.settings import AgentSettings


def build_host_probes(settings: AgentSettings) -> list[Probe]:
    """The probes of the host, without those that the settings disable; raises `BadTarget` for a latency target."""
    proc, sys = Path(settings.proc_root), Path(settings.sys_root)
    probes: list[Probe] = [
        CpuProbe(proc),
        CpuFrequencyProbe(sys),
        MemoryProbe(proc),
        PagingProbe(proc),
        SharedMemoryProbe(),
        NumaProbe(sys),
        PressureProbe(proc),
        CgroupProbe(proc, sys),
        DiskProbe(proc, sys),
        FilesystemProbe(proc, settings.probes.filesystems),
        NetworkProbe(proc),
        NetworkLinkProbe(sys),
        TcpProbe(proc),
        LatencyProbe([parse_target(target) for target in settings.probes.latency_targets]),
        InfinibandProbe(sys),
        TemperatureProbe(sys),
        CpuEnergyProbe(sys),
    ]
    return [probe for probe in probes if probe.name not in settings.probes.disabled]
