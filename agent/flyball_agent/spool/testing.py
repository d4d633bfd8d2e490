"""Records and epochs for tests."""

from flyball_agent.record import Definition, Epoch, TickRecord
from flyball_proto.v1 import telemetry_pb2 as pb


def an_epoch(number: int = 1, started_ns: int | None = None) -> Epoch:
    """Return an epoch for tests; the same number gives the same epoch."""
    return Epoch(number.to_bytes(16, "big"), number if started_ns is None else started_ns, "boot", 1000)


def a_tick(sequence: int, *, record_bytes: int = 200, layout: int = 1) -> TickRecord:
    """Return a record whose bytes depend on its sequence, and the layout that it needs."""
    definition = Definition.of(pb.Definition.LAYOUT, f"layout {layout}".encode())
    filler = bytes(sequence % 251 for _ in range(record_bytes))
    record = pb.Record(sequence=sequence, layout=definition.digest, values=filler).SerializeToString()
    return TickRecord(sequence, record, (definition,))
