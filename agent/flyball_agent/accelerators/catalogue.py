"""The list of accelerators. A new vendor needs a module, a test and a line here."""

from pathlib import Path

from flyball_agent.accelerators.accelerator import Accelerator
from flyball_agent.accelerators.amd import AmdProbe
from flyball_agent.accelerators.intel import IntelProbe
from flyball_agent.accelerators.nvidia import NvidiaProbe
from flyball_agent.accelerators.nvml import Nvml
from flyball_agent.settings import AgentSettings


def build_accelerator_probes(settings: AgentSettings) -> list[Accelerator]:
    """Build one probe per vendor. None of them accesses a device before its first `read`."""
    proc_root, sys_root = Path(settings.proc_root), Path(settings.sys_root)
    probes: list[Accelerator] = [
        NvidiaProbe(Nvml(settings.nvml_library), sys_root, processes=settings.probes.processes),
        AmdProbe(sys_root, proc_root=proc_root, processes=settings.probes.processes),
        IntelProbe(sys_root, proc_root=proc_root, processes=settings.probes.processes),
    ]
    return [probe for probe in probes if probe.name not in settings.probes.disabled]
