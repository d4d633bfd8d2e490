"""RAM, swap and NUMA nodes of the host."""

from pathlib import Path

from flyball_agent.probes.files import entries, number_after, read_text
from flyball_proto.v1 import telemetry_pb2 as pb

KIB = 1024


def read_memory_bytes(proc_root: Path) -> int:
    """Read the RAM that the kernel manages; 0: unknown."""
    text = read_text(proc_root / "meminfo") or ""
    return (number_after(text.encode(), b"MemTotal:", b" kB") or 0) * KIB


def parse_swaps(text: str) -> list[pb.Swap]:
    """Parse `/proc/swaps`: a heading, then device, type, size in KiB, used, priority."""
    swaps = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) >= 3 and fields[2].isdecimal() and len(fields[2]) < 16:
            kind = "zram" if fields[0].startswith("/dev/zram") else fields[1]
            swaps.append(pb.Swap(device=fields[0].replace("\\040", " "), kind=kind, bytes=int(fields[2]) * KIB))
    return swaps


def read_swaps(proc_root: Path) -> list[pb.Swap]:
    """Read the swap devices."""
    return parse_swaps(read_text(proc_root / "swaps") or "")


def read_numa_nodes(sys_root: Path) -> list[pb.NumaNode]:
    """Read the NUMA nodes with their CPUs and memory."""
    nodes = sys_root / "devices/system/node"
    found = []
    for name in entries(nodes):
        if name.startswith("node") and name[4:].isdigit():
            text = read_text(nodes / name / "meminfo") or ""
            kibibytes = number_after(text.encode(), b" MemTotal:", b" kB") or 0
            cpus = read_text(nodes / name / "cpulist") or ""
            found.append(pb.NumaNode(node=int(name[4:]), cpus=cpus, memory_bytes=kibibytes * KIB))
    return found
