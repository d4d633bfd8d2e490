"""One stream of a connection: how much may still be sent either way, and what waits for that."""

from dataclasses import dataclass, field

from flyball_collector.wire.messages import Assembler


@dataclass(slots=True, eq=False)
class Stream:
    """In bytes; the connection has windows of its own beside these."""

    id: int
    assembler: Assembler
    receive_window: int
    send_window: int = 0
    remote_done: bool = False  # the other side has said everything
    answered: bool = False  # our headers are sent
    received: int = 0  # since the window was last widened
    held: int = 0  # in messages that nobody has taken yet
    pending: bytearray = field(default_factory=bytearray)  # messages that wait for a window
