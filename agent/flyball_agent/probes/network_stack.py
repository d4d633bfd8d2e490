"""Sockets, connection tracking and packets that the kernel dropped because it could not keep up."""

import os
from collections.abc import Sequence
from pathlib import Path

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.files import LARGEST, KernelFile, count, count_of
from flyball_agent.probes.network import net_folder
from flyball_agent.probes.probe import Absent, ProbeSample, Value
from flyball_proto.metric import counter, gauge

PAGE = os.sysconf("SC_PAGE_SIZE")  # unit of the memory in sockstat

METRICS = (
    counter(
        "network_backlog_drops_total",
        "packets",
        "Received packets dropped because the queue of a CPU was full (softnet).",
    ),
    counter(
        "network_receive_squeezes_total",
        "events",
        "Times that a CPU stopped receiving although packets were waiting, at its limit of time or packets (softnet).",
    ),
    gauge("sockets_used", "sockets", "Sockets of all kinds in use."),
    gauge("tcp_sockets", "sockets", "TCP sockets in use, IPv4 and IPv6."),
    gauge("tcp_orphan_sockets", "sockets", "TCP sockets that no process holds any more."),
    gauge("tcp_time_wait_sockets", "sockets", "Closed TCP connections that wait for late packets."),
    gauge("tcp_memory_bytes", "bytes", "Memory used by the buffers of TCP sockets."),
    gauge("udp_sockets", "sockets", "UDP sockets in use, IPv4 and IPv6."),
    gauge("udp_memory_bytes", "bytes", "Memory used by the buffers of UDP sockets."),
    gauge("connection_tracking_entries", "connections", "Connections that the firewall tracks (nf_conntrack)."),
    gauge(
        "connection_tracking_limit",
        "connections",
        "Maximum number of tracked connections. Beyond it, new connections are dropped.",
    ),
)
_DETAILS = dict.fromkeys(
    ("connection_tracking_entries", "connection_tracking_limit"),
    "this host tracks no connections (nf_conntrack is not loaded)",
)


def parse_softnet(data: bytes) -> list[Value]:
    """Return drops and squeezes, summed over the CPUs. All fields are hexadecimal; the second and third are wanted."""
    drops, squeezes = 0, 0
    lines = data.splitlines()
    try:
        for line in lines:
            fields = line.split(None, 3)
            drops += int(fields[1], 16)
            squeezes += int(fields[2], 16)
    except (IndexError, ValueError):
        return [None, None]
    return [drops, squeezes] if lines and 0 <= drops <= LARGEST and 0 <= squeezes <= LARGEST else [None, None]


def parse_sockstat(data: bytes) -> dict[bytes, dict[bytes, Value]]:
    """Return the numbers of each line by their names: `{b"TCP": {b"inuse": 4}}`. Memory is in bytes."""
    found: dict[bytes, dict[bytes, Value]] = {}
    for line in data.splitlines():
        name, colon, rest = line.partition(b":")
        words = rest.split()
        if colon:
            found[name] = {
                key: count(value, PAGE if key == b"mem" else 1)
                for key, value in zip(words[::2], words[1::2], strict=False)
            }
    return found


def socket_values(data: bytes, data6: bytes) -> list[Value]:
    """Return the values of `METRICS` about sockets. IPv6 has its own file only for the numbers in use."""
    found, found6 = parse_sockstat(data), parse_sockstat(data6)
    tcp, udp = found.get(b"TCP", {}), found.get(b"UDP", {})
    return [
        found.get(b"sockets", {}).get(b"used"),
        _sum(tcp.get(b"inuse"), found6.get(b"TCP6", {}).get(b"inuse")),
        tcp.get(b"orphan"),
        tcp.get(b"tw"),
        tcp.get(b"mem"),
        _sum(udp.get(b"inuse"), found6.get(b"UDP6", {}).get(b"inuse")),
        udp.get(b"mem"),
    ]


def _sum(version4: Value, version6: Value) -> Value:
    return None if version4 is None else version4 + (version6 or 0)  # without IPv6 there is no second file


class NetworkStackProbe:
    """Reads what concerns the whole host, not single interfaces."""

    name = "network_stack"
    metrics = METRICS
    every_seconds = 10.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        net, tracking = net_folder(proc_root), proc_root / "sys/net/netfilter"
        self._softnet = KernelFile(net / "softnet_stat", records=True)
        self._sockstat = KernelFile(net / "sockstat", records=True, size=512)
        self._sockstat6 = KernelFile(net / "sockstat6", records=True, size=512)
        self._entries = KernelFile(tracking / "nf_conntrack_count", size=64)
        self._limit = KernelFile(tracking / "nf_conntrack_max", size=64)
        self._columns = GroupedColumns(METRICS).columns(ONE)
        self._gaps = Gaps(self.name, "not provided by this kernel", details=_DETAILS)

    def read(self) -> ProbeSample:
        values = [
            *parse_softnet(self._softnet.read_optional()),
            *socket_values(self._sockstat.read_optional(), self._sockstat6.read_optional()),
            count_of(self._entries),
            count_of(self._limit),
        ]
        if _nothing(values):
            raise Absent("this kernel has no network statistics")
        return ProbeSample(self._columns, values, self._gaps.unavailable(self._columns, values))


def _nothing(values: Sequence[Value]) -> bool:
    return values.count(None) == len(values)
