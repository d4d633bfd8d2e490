"""The explicit list of accelerators: a new vendor is one file, one test and one line here."""

from pathlib import Path

from flyball_agent.accelerators.amd import AmdProbe
from flyball_agent.accelerators.intel import IntelProbe
from flyball_agent.accelerators.nvidia import NvidiaProbe
from flyball_agent.accelerators.nvml import Nvml
from flyball_agent.accelerators.protocol import Accelerator
from flyball_agent.settings import AgentSettings


def build_accelerator_probes(settings: AgentSettings) -> list[Accelerator]:
    """One probe a vendor. None of them touches a device before its first `read`."""
    sys_root = Path(settings.sys_root)
    probes: list[Accelerator] = [
        NvidiaProbe(Nvml(settings.nvml_library), sys_root, processes=settings.probes.processes),
        AmdProbe(sys_root),
        IntelProbe(sys_root),
    ]
    return [probe for probe in probes if probe.name not in settings.probes.disabled]
