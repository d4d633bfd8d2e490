"""One HTTP/2 stream: its flow-control windows, and the bytes that wait for them."""

from dataclasses import dataclass, field

from flyball_collector.wire.messages import Assembler


@dataclass(slots=True, eq=False)
class Http2Stream:
    """The state of one stream, in bytes. The connection has its own windows in addition."""

    id: int
    assembler: Assembler
    receive_window: int
    send_window: int = 0
    remote_done: bool = False  # the client has sent its last message
    answered: bool = False  # our headers are sent
    received: int = 0  # since the window was last widened
    held: int = 0  # in messages that were not consumed yet
    pending: bytearray = field(default_factory=bytearray)  # messages that wait for the window
