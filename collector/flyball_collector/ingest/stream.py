"""One agent's stream, without its wires: what it defined, and the orders that wait for it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from flyball_collector.ingest.door import Door
from flyball_collector.ingest.outbox import Outbox
from flyball_collector.tick import KnownLayout
from flyball_collector.wire.status import StatusCode
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

End = Callable[[StatusCode, str, str], None]


@dataclass(slots=True, eq=False)
class Stream:
    """Definitions live as long as the stream: an agent repeats them on the next one."""

    host: str
    end: End  # ends the stream with a status, a word for the metrics and a message
    outbox: Outbox
    layouts: dict[int, KnownLayout] = field(default_factory=dict)
    unavailable: dict[int, tuple[UnavailableReading, ...]] = field(default_factory=dict)
    tenancies: dict[int, pb.Tenancy] = field(default_factory=dict)
    door: Door = field(init=False)

    def __post_init__(self) -> None:
        self.door = Door(self.host, self.layouts)
