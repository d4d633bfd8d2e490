"""Reads records from outside: bytes become a checked tick, or are refused with a reason."""

from collections.abc import Mapping

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from flyball_collector.ingest.rejection import Malformed
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.v1 import telemetry_pb2 as pb

_INTEGER = np.dtype("<i8")
LATEST_NS = 1 << 62  # the year 2116
EXTRAS_BYTES = 256 * 1024
_COLUMN_FIELDS = ("sequence", "time_ns", "boot_ns", "layout", "values", "validity", "unavailable", "tenancy")
_SEQUENCE_TAG = 0x08


class RecordReader:
    """Reads the records of one stream, with the layouts that the stream defined."""

    __slots__ = ("_host", "_layouts", "_valid", "_validity", "_validity_count")

    def __init__(self, host: str, layouts: Mapping[int, KnownLayout]) -> None:
        self._host = host
        self._layouts = layouts
        self._validity = b""
        self._validity_count = 0
        self._valid: NDArray[np.bool_] | None = None

    def read(self, raw: bytes, epoch: bytes, received_ns: int) -> Tick:
        """Parse and check a record. The caller sets the tick's `corrected_ns` and `live`."""
        try:
            record = pb.Record.FromString(raw)
        except DecodeError as error:
            raise Malformed("unreadable", f"{len(raw)} bytes: {error}", leading_sequence(raw)) from None
        sequence = record.sequence
        layout = self._layouts.get(record.layout)
        if layout is None:
            raise Malformed("layout", f"layout {record.layout:016x} is not defined on this stream", sequence)
        values = record.values
        if len(values) != 8 * layout.count:
            raise Malformed("values", f"{len(values)} bytes of values for {layout.count} columns", sequence)
        agent_ns, boot_ns = record.time_ns, record.boot_ns
        if not (0 <= agent_ns < LATEST_NS and 0 <= boot_ns < LATEST_NS):
            raise Malformed("time", f"sampled at {agent_ns} ns, {boot_ns} ns after boot", sequence)
        tick = Tick(
            self._host,
            epoch,
            sequence,
            layout,
            np.frombuffer(values, _INTEGER),
            self._validity_bits(record.validity, layout.count, sequence),
            agent_ns,
            boot_ns,
            0,
            received_ns,
            record.unavailable,
            record.tenancy,
            b"",
            False,
        )
        if not (record.gpu_processes or record.steps or record.events or record.adjustments):
            return tick
        for name in _COLUMN_FIELDS:
            record.ClearField(name)  # type: ignore[arg-type]  # typed as one of eight literals
        tick.extras = record.SerializeToString()
        tick.parsed_extras = record
        if len(tick.extras) > EXTRAS_BYTES:
            raise Malformed("extras", f"{len(tick.extras)} bytes of steps, events and processes", sequence)
        return tick

    def _validity_bits(self, validity: bytes, count: int, sequence: int) -> NDArray[np.bool_] | None:
        """Return the validity as booleans. Unchanged bytes return the cached array, because they rarely change."""
        if not validity:
            return None
        if validity == self._validity and count == self._validity_count:
            return self._valid
        if len(validity) != (count + 7) // 8:
            raise Malformed("validity", f"{len(validity)} bytes of validity for {count} columns", sequence)
        bits = np.unpackbits(np.frombuffer(validity, np.uint8), count=count, bitorder="little")
        self._validity, self._validity_count, self._valid = validity, count, bits.view(np.bool_)
        return self._valid


def leading_sequence(raw: bytes) -> int | None:
    """Return the sequence of a record that does not parse: its first field, if that is complete."""
    if not raw or raw[0] != _SEQUENCE_TAG:
        return 0 if raw and raw[0] == 0x11 else None  # proto3 omits a sequence of 0, so time_ns comes first
    value = 0
    for index, byte in enumerate(raw[1:11]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value if value < 1 << 64 else None
    return None
