"""Traffic, errors and state of InfiniBand and RoCE ports, from sysfs."""

from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.devices import Devices
from flyball_agent.probes.files import KernelFile, count, count_of, entries, number
from flyball_agent.probes.periodic_reading import PeriodicReading
from flyball_agent.probes.probe import Absent, ProbeSample, Value
from flyball_proto.metric import counter, gauge, state
from flyball_proto.unavailable_reading import Reason

_LABELS = ("device", "port")
WORD_BYTES = 4  # data counters count words of four bytes (InfiniBand specification, PortCounters)
SLOW_EVERY = 5
"""Error counters and state are read every fifth time: each file costs a query to the adapter's firmware."""

SATURATED = 2**32 - 1
"""Data counters of old adapters and drivers have 32 bits and stay at the largest value: what follows is not counted."""

STATES = ("unknown", "down", "initializing", "armed", "active", "active_deferred")

WIDE = {
    "port_xmit_data": "counters_ext/port_xmit_data_64",
    "port_rcv_data": "counters_ext/port_rcv_data_64",
    "port_xmit_packets": "counters_ext/port_xmit_packets_64",
    "port_rcv_packets": "counters_ext/port_rcv_packets_64",
}
"""Counters of 64 bits that old drivers (before Linux 4.5) have beside those of 32 bits."""

ELASTIC = {
    "port_xmit_data": "hw_counters/tx_bytes",
    "port_rcv_data": "hw_counters/rx_bytes",
    "port_xmit_packets": "hw_counters/tx_pkts",
    "port_rcv_packets": "hw_counters/rx_pkts",
}
"""Counters of adapters that have no others (AWS EFA). Their data is in bytes."""

FAST = (
    ("port_xmit_data", counter("infiniband_sent_bytes_total", "bytes", "Bytes sent.", _LABELS)),
    ("port_rcv_data", counter("infiniband_received_bytes_total", "bytes", "Bytes received.", _LABELS)),
    ("port_xmit_packets", counter("infiniband_sent_packets_total", "packets", "Packets sent.", _LABELS)),
    ("port_rcv_packets", counter("infiniband_received_packets_total", "packets", "Packets received.", _LABELS)),
    (
        "port_xmit_wait",
        counter(
            "infiniband_send_wait_ticks_total",
            "ticks",
            "Ticks of the port's clock in which data was ready but could not be sent.",
            _LABELS,
        ),
    ),
)
SLOW = (
    (
        "port_rcv_errors",
        counter("infiniband_received_errors_total", "packets", "Packets received with errors.", _LABELS),
    ),
    (
        "port_xmit_discards",
        counter("infiniband_sent_discards_total", "packets", "Packets discarded instead of sent.", _LABELS),
    ),
    (
        "symbol_error",
        counter("infiniband_symbol_errors_total", "errors", "Symbols with errors on the lanes of the link.", _LABELS),
    ),
    (
        "link_error_recovery",
        counter(
            "infiniband_link_recoveries_total",
            "events",
            "Times that the link recovered from errors by itself.",
            _LABELS,
        ),
    ),
    ("link_downed", counter("infiniband_link_downs_total", "events", "Times that the link went down.", _LABELS)),
    (
        "local_link_integrity_errors",
        counter(
            "infiniband_integrity_errors_total",
            "errors",
            "Times that the port exceeded its threshold of physical errors (local link integrity).",
            _LABELS,
        ),
    ),
)
ROCE = (
    ("np_cnp_sent", counter("infiniband_congestion_sent_total", "packets", "Congestion notifications sent.", _LABELS)),
    (
        "rp_cnp_handled",
        counter("infiniband_congestion_handled_total", "packets", "Congestion notifications handled.", _LABELS),
    ),
    (
        "out_of_sequence",
        counter("infiniband_out_of_sequence_total", "packets", "Packets received out of order.", _LABELS),
    ),
    (
        "packet_seq_err",
        counter("infiniband_sequence_errors_total", "packets", "Sequence errors (NAK) received.", _LABELS),
    ),
    (
        "local_ack_timeout_err",
        counter("infiniband_ack_timeouts_total", "events", "Acknowledgements that did not arrive in time.", _LABELS),
    ),
    (
        "rnr_nak_retry_err",
        counter(
            "infiniband_receiver_not_ready_total",
            "packets",
            "Rejections (RNR NAK) received because the other side had posted no receive buffer.",
            _LABELS,
        ),
    ),
    (
        "out_of_buffer",
        counter(
            "infiniband_received_discards_total",
            "packets",
            "Packets received and discarded because no receive buffer was posted.",
            _LABELS,
        ),
    ),
    (
        "np_ecn_marked_roce_packets",
        counter(
            "infiniband_congestion_marked_total", "packets", "Packets that a congested switch had marked.", _LABELS
        ),
    ),
)
LINK = (
    state("infiniband_state", "Logical state of the port.", STATES, _LABELS),
    gauge("infiniband_rate_bytes_per_second", "bytes/s", "Capacity of the link in each direction.", _LABELS),
)
_DETAILS = {metric.name: "not supported by this adapter, or its 32-bit counter is full" for _, metric in FAST}
METRICS = (*(metric for _, metric in (*FAST, *SLOW, *ROCE)), *LINK)


def parse_state(data: bytes) -> int | None:
    """Return the code of a port state: 4 for `4: ACTIVE`."""
    code = number(data.partition(b":")[0])
    return code if code is not None and 0 <= code < len(STATES) else None


FASTEST = 10**13
"""Bytes a second that no adapter reaches; more is nonsense."""


def parse_rate(data: bytes) -> int | None:
    """Return the bytes a second of a rate such as `100 Gb/sec (4X EDR)`."""
    words = data.split()
    try:
        rate = round(float(words[0]) * 1e9 / 8) if words[1].startswith(b"Gb") else -1
    except (IndexError, OverflowError, ValueError):
        return None
    return rate if 0 <= rate < FASTEST else None


class TrafficCounter:
    """The best of the files that count the same traffic."""

    __slots__ = ("_bits_32", "_factor", "_file")

    def __init__(self, folder: Path, name: str) -> None:
        path = folder / "counters" / name
        wide, elastic = (folder / other[name] if name in other else path for other in (WIDE, ELASTIC))
        chosen = wide if wide.exists() else elastic if not path.exists() and elastic.exists() else path
        self._bits_32 = chosen == path
        self._factor = WORD_BYTES if name.endswith("_data") and (chosen in {path, wide}) else 1
        self._file = KernelFile(chosen, size=64)

    def value(self) -> Value:
        data = self._file.read_optional()
        return None if self._bits_32 and number(data) == SATURATED else count(data, self._factor)


class Port:
    """The open files of one port. Which of them exist depends on the adapter."""

    def __init__(self, folder: Path) -> None:
        self._fast = [TrafficCounter(folder, name) for name, _ in FAST]
        self._errors = [KernelFile(folder / "counters" / name, size=64) for name, _ in SLOW]
        self._errors += [KernelFile(folder / "hw_counters" / name, size=64) for name, _ in ROCE]
        self._state = KernelFile(folder / "state", size=64)
        self._rate = KernelFile(folder / "rate", size=64)
        self._slow_values: PeriodicReading[list[Value]] = PeriodicReading(SLOW_EVERY)

    def values(self) -> list[Value]:
        fast = [counter.value() for counter in self._fast]
        return [*fast, *self._slow_values.value(self._read_slow)]

    def _read_slow(self) -> list[Value]:
        errors: list[Value] = [count_of(file) for file in self._errors]
        return [*errors, parse_state(self._state.read_optional()), parse_rate(self._rate.read_optional())]


class InfinibandProbe:
    """Reads the ports of all adapters. It is blocking: each file queries an adapter, which may be slow or hang."""

    name = "infiniband"
    metrics = METRICS
    every_seconds = 0.0
    blocking = True

    def __init__(self, sys_root: Path) -> None:
        adapters = sys_root / "class/infiniband"
        self._columns = GroupedColumns(METRICS)
        self._gaps = Gaps(self.name, "not supported by this adapter", Reason.UNSUPPORTED, details=_DETAILS)
        self._ports: Devices[Port] = Devices(
            lambda: [f"{name}/{port}" for name in entries(adapters) for port in entries(adapters / name / "ports")],
            lambda name: Port(adapters / name.replace("/", "/ports/")),
        )

    def read(self) -> ProbeSample:
        ports = self._ports.current()
        if not ports:
            self._ports.request_scan()
            raise Absent("no InfiniBand or RoCE adapter")
        columns = self._columns.columns([tuple(name.split("/")) for name in ports])
        values = [value for port in ports.values() for value in port.values()]
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))
