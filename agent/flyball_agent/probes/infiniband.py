"""Traffic, errors and state of InfiniBand and RoCE ports, from sysfs."""

from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.devices import Devices
from flyball_agent.probes.files import KernelFile, entries, number
from flyball_agent.probes.periodic_reading import PeriodicReading
from flyball_agent.probes.probe import Absent, ProbeSample, Value
from flyball_proto.metric import counter, gauge, state
from flyball_proto.unavailable_reading import Reason

_LABELS = ("device", "port")
WORD_BYTES = 4  # data counters count words of four bytes (InfiniBand specification, PortCounters)
SLOW_EVERY = 5
"""Error counters and state are read every fifth time: each file costs a query to the adapter's firmware."""

STATES = ("unknown", "down", "initializing", "armed", "active", "active_deferred")

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
)
LINK = (
    state("infiniband_state", "Logical state of the port.", STATES, _LABELS),
    gauge("infiniband_rate_bytes_per_second", "bytes/s", "Capacity of the link in each direction.", _LABELS),
)
METRICS = (*(metric for _, metric in (*FAST, *SLOW, *ROCE)), *LINK)


def parse_state(data: bytes) -> int | None:
    """Return the code of a port state: 4 for `4: ACTIVE`."""
    code = number(data.partition(b":")[0])
    return code if code is not None and 0 <= code < len(STATES) else None


def parse_rate(data: bytes) -> int | None:
    """Return the bytes a second of a rate such as `100 Gb/sec (4X EDR)`."""
    words = data.split()
    try:
        return round(float(words[0]) * 1e9 / 8) if words[1].startswith(b"Gb") else None
    except (IndexError, ValueError):
        return None


class Port:
    """The open files of one port. Which of them exist depends on the adapter."""

    def __init__(self, folder: Path) -> None:
        self._fast = [KernelFile(folder / "counters" / name, size=64) for name, _ in FAST]
        self._errors = [KernelFile(folder / "counters" / name, size=64) for name, _ in SLOW]
        self._errors += [KernelFile(folder / "hw_counters" / name, size=64) for name, _ in ROCE]
        self._state = KernelFile(folder / "state", size=64)
        self._rate = KernelFile(folder / "rate", size=64)
        self._slow_values = PeriodicReading(self._read_slow, SLOW_EVERY)

    def values(self) -> list[Value]:
        fast: list[Value] = [number(file.read_optional()) for file in self._fast]
        for index in (0, 1):
            words = fast[index]
            fast[index] = None if words is None else words * WORD_BYTES
        return [*fast, *self._slow_values.value()]

    def _read_slow(self) -> list[Value]:
        errors: list[Value] = [number(file.read_optional()) for file in self._errors]
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
        self._gaps = Gaps(self.name, "not supported by this adapter", Reason.UNSUPPORTED)
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
