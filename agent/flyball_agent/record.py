"""Builds the record of a tick: layout, packed values, step reports, events and GPU processes."""

from collections.abc import Sequence
from dataclasses import dataclass

from flyball_agent.runner import ProbeSlot
from flyball_proto.layout import Column, Layout, digest
from flyball_proto.packing import pack
from flyball_proto.unavailable_reading import UnavailableReading, unavailable_body
from flyball_proto.v1 import telemetry_pb2 as pb


@dataclass(frozen=True, slots=True)
class Epoch:
    """One life of the agent at one sampling interval."""

    id: bytes
    started_ns: int
    boot_id: str
    interval_ms: int

    def to_message(self) -> pb.Epoch:
        return pb.Epoch(id=self.id, started_ns=self.started_ns, boot_id=self.boot_id, interval_ms=self.interval_ms)

    @classmethod
    def from_message(cls, message: pb.Epoch) -> "Epoch":
        return cls(message.id, message.started_ns, message.boot_id, message.interval_ms)

    @property
    def name(self) -> str:
        return self.id.hex()


@dataclass(frozen=True, slots=True)
class Definition:
    """A description that records refer to by its digest."""

    kind: int
    digest: int
    body: bytes

    @classmethod
    def of(cls, kind: int, body: bytes) -> "Definition":
        return cls(kind, digest(body), body)

    def to_message(self) -> pb.Definition:
        return pb.Definition(kind=pb.Definition.Kind.ValueType(self.kind), digest=self.digest, body=self.body)


@dataclass(frozen=True, slots=True)
class Extras:
    """The parts of a record that are not readings, in their encoded form."""

    steps: Sequence[pb.StepReport] = ()
    events: Sequence[pb.HostEvent] = ()
    gpu_processes: Sequence[pb.GpuProcess] = ()
    adjustments: Sequence[pb.AdjustmentOutcome] = ()
    tenancy: bytes = b""


@dataclass(frozen=True, slots=True)
class TickRecord:
    """The encoded record of a tick, which stays the same bytes up to the store, and the definitions that it needs."""

    sequence: int
    record: bytes
    definitions: tuple[Definition, ...]


class RecordMaker:
    """Builds records from the readings of the probes. Definitions are built again only when they change."""

    def __init__(self) -> None:
        self._columns: list[tuple[Column, ...]] = []
        self._scales: list[int] = []
        self._layout: Definition | None = None
        self._parts: list[tuple[UnavailableReading, ...]] = []
        self._unavailable: Definition | None = None
        self._tenancy: Definition | None = None
        self.layout = Layout(())
        self.unavailable: tuple[UnavailableReading, ...] = ()

    def make(self, sequence: int, wall_ns: int, boot_ns: int, slots: Sequence[ProbeSlot], extras: Extras) -> TickRecord:
        """Build the record of one tick."""
        layout = self._layout_of(slots)
        unavailable = self._unavailable_of(slots)
        tenancy = self._tenancy_of(extras.tenancy)
        readings: list[float | None] = []
        for slot in slots:
            readings += slot.values
        values, validity = pack(readings, self._scales)
        record = pb.Record(
            sequence=sequence,
            time_ns=wall_ns,
            boot_ns=boot_ns,
            layout=layout.digest,
            values=values,
            validity=validity,
            unavailable=unavailable.digest if unavailable else 0,
            tenancy=tenancy.digest if tenancy else 0,
            steps=extras.steps,
            events=extras.events,
            gpu_processes=extras.gpu_processes,
            adjustments=extras.adjustments,
        )
        used = tuple(definition for definition in (layout, unavailable, tenancy) if definition is not None)
        return TickRecord(sequence, record.SerializeToString(), used)

    def _layout_of(self, slots: Sequence[ProbeSlot]) -> Definition:
        if self._layout is not None and len(slots) == len(self._columns):
            for slot, known in zip(slots, self._columns, strict=True):
                if slot.columns is not known:
                    break
            else:
                return self._layout
        self._columns = [slot.columns for slot in slots]
        self.layout = Layout(tuple(column for columns in self._columns for column in columns))
        self._scales = [column.metric.scale for column in self.layout.columns]
        self._layout = Definition.of(pb.Definition.LAYOUT, self.layout.body)
        return self._layout

    def _unavailable_of(self, slots: Sequence[ProbeSlot]) -> Definition | None:
        parts = [slot.unavailable for slot in slots]
        if parts != self._parts:
            self._parts = parts
            self.unavailable = tuple(reading for part in parts for reading in part)
            self._unavailable = (
                Definition.of(pb.Definition.UNAVAILABLE, unavailable_body(self.unavailable))
                if self.unavailable
                else None
            )
        return self._unavailable

    def _tenancy_of(self, body: bytes) -> Definition | None:
        if not body:
            return None
        if self._tenancy is None or self._tenancy.body != body:
            self._tenancy = Definition.of(pb.Definition.TENANCY, body)
        return self._tenancy
