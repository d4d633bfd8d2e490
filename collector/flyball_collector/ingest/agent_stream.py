"""One agent's stream without its connection: the definitions it sent, and the messages that wait for it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from flyball_collector.ingest.record_reader import RecordReader
from flyball_collector.ingest.stream_outbox import StreamOutbox
from flyball_collector.tick import KnownLayout
from flyball_collector.wire.status import StatusCode
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

End = Callable[[StatusCode, str, str], None]


@dataclass(slots=True, eq=False)
class AgentStream:
    """The state of a stream. Definitions live as long as it does: an agent repeats them on its next stream."""

    host: str
    end: End  # ends the stream with a status, a reason for the metrics and a message
    outbox: StreamOutbox
    layouts: dict[int, KnownLayout] = field(default_factory=dict)
    unavailable: dict[int, tuple[UnavailableReading, ...]] = field(default_factory=dict)
    tenancies: dict[int, pb.Tenancy] = field(default_factory=dict)
    reader: RecordReader = field(init=False)

    def __post_init__(self) -> None:
        self.reader = RecordReader(self.host, self.layouts)
