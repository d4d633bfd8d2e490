"""Processes that compute on AMD GPUs with ROCm, from the sysfs files of KFD, the driver's compute part.

KFD's work bypasses the DRM scheduler, so DRM's client statistics do not contain its busy time. Every user may read
these files (source: the kernel's drivers/gpu/drm/amd/amdkfd/kfd_process.c and kfd_topology.c).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flyball_agent.accelerators.device_use import DeviceUse, united
from flyball_agent.probes.files import entries, read_number, read_text
from flyball_agent.probes.probe import Unavailable

SCAN_SECONDS = 30.0
_MEMORY = "vram_"


@dataclass(frozen=True, slots=True)
class _Node:
    """A GPU of KFD's topology."""

    address: str
    compute_units: int


class KfdProcesses:
    """The processes with a compute context; see `device_use.ProcessSource`."""

    fault: Unavailable | None = None

    def __init__(self, sys_root: Path) -> None:
        self._kfd = sys_root / "class/kfd/kfd"
        self._nodes: dict[str, _Node] = {}
        self._next_scan = float("-inf")

    def read(self, now: float) -> Sequence[DeviceUse]:
        """Return the processes that have memory on a GPU."""
        pids = [name for name in entries(self._kfd / "proc") if name.isdecimal()]
        if pids and now >= self._next_scan:
            self._next_scan = now + SCAN_SECONDS
            self._nodes = read_nodes(self._kfd / "topology/nodes")
        memory = [(int(pid), gpu, size) for pid in pids for gpu, size in self._memory(pid)]
        shared = {gpu for _, gpu, _ in memory if sum(other == gpu for _, other, _ in memory) > 1}
        return united(
            DeviceUse(pid, self._nodes[gpu].address, size, self._occupancy(pid, gpu) if gpu in shared else None)
            for pid, gpu, size in memory
        )

    def _memory(self, pid: str) -> list[tuple[str, int]]:
        """Return the GPUs on which the process has memory. Each process has a file for every GPU."""
        folder = self._kfd / "proc" / pid
        sizes = {gpu: read_number(folder / f"{_MEMORY}{gpu}") for gpu in self._nodes}
        return [(gpu, size) for gpu, size in sizes.items() if size]

    def _occupancy(self, pid: int, gpu: str) -> float | None:
        """Return the share of compute units on which the process has work.

        It is read only if several processes share the GPU, because the driver reads hundreds of registers for it. The
        utilisation of a single process is that of the device.
        """
        units = self._nodes[gpu].compute_units
        busy = read_number(self._kfd / "proc" / str(pid) / f"stats_{gpu}/cu_occupancy")
        return None if busy is None or not units else min(1.0, busy / units)


def read_nodes(folder: Path) -> dict[str, _Node]:
    """Read the GPUs of the topology by their ids. Nodes without an id are CPUs."""
    nodes = {}
    for name in entries(folder):
        gpu = read_text(folder / name / "gpu_id") or "0"
        if gpu != "0":
            nodes[gpu] = _node(read_text(folder / name / "properties") or "")
    return nodes


def _node(properties: str) -> _Node:
    pairs = (line.partition(" ") for line in properties.splitlines())
    values = {name: int(value) for name, _, value in pairs if value.isdecimal()}
    location = values.get("location_id", 0)  # bus, device and function as in the PCI configuration space
    address = f"{values.get('domain', 0):04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"
    return _Node(address, values.get("simd_count", 0) // max(1, values.get("simd_per_cu", 1)))
