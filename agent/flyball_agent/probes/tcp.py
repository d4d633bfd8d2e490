"""TCP connections and retransmissions, from `/proc/net/snmp`."""

from pathlib import Path

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.files import KernelFile, number
from flyball_agent.probes.network import net_folder
from flyball_agent.probes.probe import Sample, Unavailable, Value
from flyball_proto.metric import counter, gauge

FIELDS = (
    (b"CurrEstab", gauge("tcp_connections", "connections", "Connections that are established.")),
    (b"ActiveOpens", counter("tcp_opened_total", "connections", "Connections opened from here; many: no pool.")),
    (b"PassiveOpens", counter("tcp_accepted_total", "connections", "Connections accepted.")),
    (b"AttemptFails", counter("tcp_failed_total", "connections", "Connections that did not come about.")),
    (b"EstabResets", counter("tcp_reset_total", "connections", "Established connections that were reset.")),
    (b"OutSegs", counter("tcp_sent_segments_total", "segments", "Segments sent, without retransmissions.")),
    (b"RetransSegs", counter("tcp_retransmitted_segments_total", "segments", "Segments sent again: loss.")),
)
METRICS = tuple(metric for _, metric in FIELDS)
_NAMES = tuple(name for name, _ in FIELDS)


def parse_tcp(data: bytes) -> dict[bytes, bytes]:
    """The pair of lines that begin with `Tcp:`, names above values."""
    start = data.find(b"\nTcp: ")
    lines = data[start + 1 :].split(b"\n", 2) if start >= 0 else []
    if len(lines) < 2 or not lines[1].startswith(b"Tcp: "):
        raise Unavailable("/proc/net/snmp: it has no lines on TCP")
    return dict(zip(lines[0].split(), lines[1].split(), strict=False))


class TcpProbe:
    """What the network costs that is not bytes."""

    name = "tcp"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        self._snmp = KernelFile(net_folder(proc_root) / "snmp", records=True)
        self._columns = GroupedColumns(METRICS).columns(ONE)
        self._gaps = Gaps(self.name, "this kernel does not count it")

    def read(self) -> Sample:
        said = parse_tcp(b"\n" + self._snmp.read())
        values: list[Value] = [number(said.get(name, b"")) for name in _NAMES]
        return Sample(self._columns, values, self._gaps.unavailable(self._columns, values))
