"""Traffic of each network interface, from `/proc/net/dev`."""

from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.files import KernelFile, counts
from flyball_agent.probes.probe import Absent, ProbeSample, Value
from flyball_proto.metric import counter

_LABEL = ("interface",)
VIRTUAL = (
    "veth", "cali", "lxc", "cilium", "flannel", "cni", "kube-", "docker", "br-", "virbr", "vnet", "tap", "ifb", "dummy",
    "tunl", "sit", "gre", "erspan", "ip6tnl", "ip6gre", "ip_vti", "ip6_vti", "teql", "nlmon",
)  # fmt: skip
"""Interfaces whose traffic another interface also counts, or that have none."""

METRICS = (
    counter("network_received_bytes_total", "bytes", "Bytes received.", _LABEL),
    counter("network_received_packets_total", "packets", "Packets received.", _LABEL),
    counter("network_received_errors_total", "packets", "Packets received with errors.", _LABEL),
    counter("network_received_drops_total", "packets", "Packets received and dropped.", _LABEL),
    counter("network_sent_bytes_total", "bytes", "Bytes sent.", _LABEL),
    counter("network_sent_packets_total", "packets", "Packets sent.", _LABEL),
    counter("network_sent_errors_total", "packets", "Packets that could not be sent.", _LABEL),
    counter("network_sent_drops_total", "packets", "Packets dropped before they were sent.", _LABEL),
)


def is_watched(name: str) -> bool:
    """Return False for loopback and for the virtual interfaces of containers and bridges."""
    return name != "lo" and not name.startswith(VIRTUAL)


def parse_net_dev(data: bytes) -> list[tuple[bytes, list[bytes]]]:
    """Return each interface with its fields. The two heading lines and lines that do not parse are skipped."""
    rows = []
    for line in data.splitlines():
        name, colon, rest = line.partition(b":")
        fields = rest.split()
        if colon and len(fields) >= 12:
            rows.append((name.strip(), fields))
    return rows


def interface_values(fields: list[bytes]) -> list[Value]:
    """Parse the values of `METRICS` from the fields of one interface: 0–3 are received, 8–11 are sent."""
    values = counts((*fields[0:4], *fields[8:12]))
    return [*values] if values is not None else [None] * len(METRICS)


def net_folder(proc_root: Path) -> Path:
    """Return the folder of network files.

    In a container with the host's procfs mounted elsewhere, the network of process 1 is that of the host.
    """
    host = proc_root / "1/net"
    return host if proc_root != Path("/proc") and (host / "dev").exists() else proc_root / "net"


class NetworkProbe:
    """Reads the traffic of all watched interfaces."""

    name = "network"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        self._dev = KernelFile(net_folder(proc_root) / "dev", records=True, size=8192)
        self._columns = GroupedColumns(METRICS)
        self._gaps = Gaps(self.name, "/proc/net/dev: the format of the line is not known")
        self._watched: dict[bytes, bool] = {}
        self._names: list[bytes] = []
        self._labels: tuple[tuple[str, ...], ...] = ()

    def read(self) -> ProbeSample:
        # A list that changes while the kernel writes it may have an interface twice.
        rows = {name: fields for name, fields in parse_net_dev(self._dev.read()) if self._is_watched(name)}
        if not rows:
            raise Absent("no network interface except loopback")
        names = list(rows)
        if names != self._names:
            self._names, self._labels = names, tuple((name.decode(errors="backslashreplace"),) for name in names)
            self._watched = {
                name: known for name, known in self._watched.items() if known
            }  # forget the interfaces of ended pods
        values: list[Value] = []
        for fields in rows.values():
            values += interface_values(fields)
        columns = self._columns.columns(self._labels)
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))

    def _is_watched(self, name: bytes) -> bool:
        known = self._watched.get(name)
        if known is None:
            known = self._watched[name] = is_watched(name.decode(errors="replace"))
        return known
