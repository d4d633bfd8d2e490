"""TCP connections and retransmissions, from `/proc/net/snmp`."""

from pathlib import Path

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.files import KernelFile, count
from flyball_agent.probes.network import net_folder
from flyball_agent.probes.probe import ProbeSample, Unavailable, Value
from flyball_proto.metric import counter, gauge

FIELDS = (
    (b"CurrEstab", gauge("tcp_connections", "connections", "Established connections.")),
    (
        b"ActiveOpens",
        counter(
            "tcp_opened_total",
            "connections",
            "Connections opened by this host. A high rate means that clients do not reuse connections.",
        ),
    ),
    (b"PassiveOpens", counter("tcp_accepted_total", "connections", "Connections accepted.")),
    (b"AttemptFails", counter("tcp_failed_total", "connections", "Connection attempts that failed.")),
    (b"EstabResets", counter("tcp_reset_total", "connections", "Established connections that were reset.")),
    (b"OutSegs", counter("tcp_sent_segments_total", "segments", "Segments sent, not counting retransmissions.")),
    (
        b"RetransSegs",
        counter("tcp_retransmitted_segments_total", "segments", "Segments sent again because they were lost."),
    ),
)
METRICS = tuple(metric for _, metric in FIELDS)
_NAMES = tuple(name for name, _ in FIELDS)


def parse_tcp(data: bytes) -> dict[bytes, bytes]:
    """Parse the two lines that begin with `Tcp:`: names, then values."""
    start = data.find(b"\nTcp: ")
    lines = data[start + 1 :].split(b"\n", 2) if start >= 0 else []
    if len(lines) < 2 or not lines[1].startswith(b"Tcp: "):
        raise Unavailable("/proc/net/snmp: there are no TCP lines")
    return dict(zip(lines[0].split(), lines[1].split(), strict=False))


class TcpProbe:
    """Reads the counters of TCP."""

    name = "tcp"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        self._snmp = KernelFile(net_folder(proc_root) / "snmp", records=True)
        self._columns = GroupedColumns(METRICS).columns(ONE)
        self._gaps = Gaps(self.name, "not provided by this kernel")

    def read(self) -> ProbeSample:
        fields = parse_tcp(b"\n" + self._snmp.read())
        values: list[Value] = [count(fields.get(name, b"")) for name in _NAMES]
        return ProbeSample(self._columns, values, self._gaps.unavailable(self._columns, values))
