"""Memory and page allocations of each NUMA node, from sysfs."""

from dataclasses import dataclass
from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.devices import Devices
from flyball_agent.probes.files import KernelFile, entries, number_after
from flyball_agent.probes.probe import Absent, ProbeSample, Unavailable, Value
from flyball_proto.metric import counter, gauge
from flyball_proto.unavailable_reading import Reason

_LABEL = ("node",)
KIB = 1024

COUNTS = (
    (b"\nnuma_hit ", counter("numa_hit_pages_total", "pages", "Pages allocated on this node as intended.", _LABEL)),
    (
        b"\nnuma_miss ",
        counter(
            "numa_miss_pages_total", "pages", "Pages allocated on this node although another was intended.", _LABEL
        ),
    ),
    (
        b"\nnuma_foreign ",
        counter("numa_foreign_pages_total", "pages", "Pages intended for this node but allocated on another.", _LABEL),
    ),
    (
        b"\nlocal_node ",
        counter("numa_local_pages_total", "pages", "Pages allocated on this node by processes running on it.", _LABEL),
    ),
    (
        b"\nother_node ",
        counter(
            "numa_remote_pages_total", "pages", "Pages allocated on this node by processes running on another.", _LABEL
        ),
    ),
)
SPACE = (
    (b" MemTotal:", gauge("numa_memory_total_bytes", "bytes", "Memory of the node.", _LABEL)),
    (b" MemFree:", gauge("numa_memory_free_bytes", "bytes", "Free memory of the node.", _LABEL)),
    (b" FilePages:", gauge("numa_memory_cached_bytes", "bytes", "Page cache on the node.", _LABEL)),
)
METRICS = tuple(metric for _, metric in (*COUNTS, *SPACE))


def parse_node(counts: bytes, space: bytes) -> list[Value]:
    """Parse the values of `METRICS` from a node's `numastat` and `meminfo`."""
    counts = b"\n" + counts
    values: list[Value] = [number_after(counts, key) for key, _ in COUNTS]
    values += [number_after(space, key, b" kB", KIB) for key, _ in SPACE]
    return values


@dataclass(frozen=True, slots=True)
class Node:
    """The open files of one node."""

    counts: KernelFile
    space: KernelFile


class NumaProbe:
    """Reads all NUMA nodes."""

    name = "numa"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, sys_root: Path) -> None:
        nodes = sys_root / "devices/system/node"
        self._columns = GroupedColumns(METRICS)
        self._gaps = Gaps(self.name, "not in the node's files", Reason.UNSUPPORTED)
        self._nodes: Devices[Node] = Devices(
            lambda: [name for name in entries(nodes) if name.startswith("node") and name[4:].isdigit()],
            lambda name: Node(KernelFile(nodes / name / "numastat", size=512), KernelFile(nodes / name / "meminfo")),
        )

    def read(self) -> ProbeSample:
        nodes = self._nodes.current()
        if not nodes:
            self._nodes.request_scan()
            raise Absent("this kernel has no NUMA nodes")
        values: list[Value] = []
        for node in nodes.values():
            try:
                values += parse_node(node.counts.read(), node.space.read())
            except Unavailable:
                self._nodes.request_scan()
                values += [None] * len(METRICS)
        columns = self._columns.columns([(name[4:],) for name in nodes])
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))
