"""Traffic of each network interface, from `/proc/net/dev`."""

from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.files import KernelFile
from flyball_agent.probes.probe import Absent, Sample, Value
from flyball_proto.metric import counter

_LABEL = ("interface",)
VIRTUAL = (
    "veth", "cali", "lxc", "cilium", "flannel", "cni", "kube-", "docker", "br-", "virbr", "vnet", "tap", "ifb", "dummy",
    "tunl", "sit", "gre", "erspan", "ip6tnl", "ip6gre", "ip_vti", "ip6_vti", "teql", "nlmon",
)  # fmt: skip
"""Interfaces whose traffic another one counts as well, or that carry none."""

METRICS = (
    counter("network_received_bytes_total", "bytes", "Bytes received.", _LABEL),
    counter("network_received_packets_total", "packets", "Packets received.", _LABEL),
    counter("network_received_errors_total", "packets", "Packets received damaged.", _LABEL),
    counter("network_received_drops_total", "packets", "Packets received and dropped.", _LABEL),
    counter("network_sent_bytes_total", "bytes", "Bytes sent.", _LABEL),
    counter("network_sent_packets_total", "packets", "Packets sent.", _LABEL),
    counter("network_sent_errors_total", "packets", "Packets that could not be sent.", _LABEL),
    counter("network_sent_drops_total", "packets", "Packets dropped before they were sent.", _LABEL),
)


def is_watched(name: str) -> bool:
    """Loopback and the virtual ends of containers and bridges are left out."""
    return name != "lo" and not name.startswith(VIRTUAL)


def parse_net_dev(data: bytes) -> list[tuple[bytes, list[bytes]]]:
    """Each interface with its fields; the two lines of headings and what does not parse are left out."""
    rows = []
    for line in data.splitlines():
        name, colon, rest = line.partition(b":")
        fields = rest.split()
        if colon and len(fields) >= 12:
            rows.append((name.strip(), fields))
    return rows


def interface_values(fields: list[bytes]) -> list[Value]:
    """Values of `METRICS` from one interface's fields: four received, eight others between, four sent."""
    try:
        return [*map(int, fields[0:4]), *map(int, fields[8:12])]
    except ValueError:
        return [None] * len(METRICS)


def net_folder(proc_root: Path) -> Path:
    """In a container that sees the host's procfs elsewhere, the first process's network is the host's."""
    host = proc_root / "1/net"
    return host if proc_root != Path("/proc") and (host / "dev").exists() else proc_root / "net"


class NetworkProbe:
    """Traffic of interfaces that carry some of their own."""

    name = "network"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        self._dev = KernelFile(net_folder(proc_root) / "dev", records=True, size=8192)
        self._columns = GroupedColumns(METRICS)
        self._gaps = Gaps(self.name, "/proc/net/dev: a line does not parse")
        self._watched: dict[bytes, bool] = {}
        self._names: list[bytes] = []
        self._labels: tuple[tuple[str, ...], ...] = ()

    def read(self) -> Sample:
        rows = [row for row in parse_net_dev(self._dev.read()) if self._is_watched(row[0])]
        if not rows:
            raise Absent("no network interface but loopback")
        names = [name for name, _ in rows]
        if names != self._names:
            self._names, self._labels = names, tuple((name.decode(errors="replace"),) for name in names)
            self._watched = {name: known for name, known in self._watched.items() if known}  # pods leave names behind
        values: list[Value] = []
        for _, fields in rows:
            values += interface_values(fields)
        columns = self._columns.columns(self._labels)
        return Sample(columns, values, self._gaps.unavailable(columns, values))

    def _is_watched(self, name: bytes) -> bool:
        known = self._watched.get(name)
        if known is None:
            known = self._watched[name] = is_watched(name.decode(errors="replace"))
        return known
