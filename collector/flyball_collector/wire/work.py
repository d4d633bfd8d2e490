"""Limits the work that a client causes: a few bytes can cost much CPU time (RFC 9113, section 10.5).

Costs are counted in microseconds of CPU. They are estimates from counts, measured on 26 November 2026 (2 × Intel Xeon,
Python 3.11), because reading a clock for each frame costs as much as most frames, and because a busy machine must not
look like an attack. What costs no more than its bytes (a full frame of a usual message) is not counted.
"""

from flyball_collector.wire.events import Limits
from flyball_collector.wire.frames import ErrorCode, ProtocolFault

SMALL_BYTES = 256  # a frame or message below this costs more than its bytes
FRAME_MICROS = 3.0
MESSAGE_MICROS = 10.0  # passing it to its handler
CALL_MICROS = 100.0  # a call: its task, its handler and its answer, measured with health checks
BLOCK_MICROS = 10.0
HEADER_BYTE_MICROS = 0.07  # decoding Huffman text
HEADER_MICROS = 3.0
SETTING_MICROS = 0.2
INFLATED_BYTE_MICROS = 0.004  # and the memory that it takes meanwhile
USUAL_RATIO = 16  # of a compressed message; records in protobuf reach 3 to 8
_FRAMES_OF_A_CALL = 4  # that clients of gRPC send without content for each: window updates and pings
_FRAMES_OF_A_MESSAGE = 3  # likewise, if they wait for an answer to each: two window updates, a ping or its answer
_SAVED_SECONDS = 3  # unused work that a quiet connection may catch up on at once, for example with 200 health checks


class ClientWork:
    """Counts the work of one connection. Raises `ProtocolFault` above a limit."""

    __slots__ = ("_frames", "_limits", "_micros")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._frames = 0
        self._micros = 0.0  # negative while work is saved

    def start_second(self) -> None:
        """Begin to count again. Work that was not used before is saved for a while."""
        allowed = self._limits.work_micros
        self._frames, self._micros = 0, max(-_SAVED_SECONDS * allowed, self._micros - allowed)

    def idle_frame(self) -> None:
        """Count a frame without content."""
        self._frames += 1
        if self._frames > self._limits.idle_frames:
            raise ProtocolFault(ErrorCode.ENHANCE_YOUR_CALM, "too many frames without content")

    def small_frame(self, size: int) -> None:
        """Count a DATA frame with little content."""
        self.spend(FRAME_MICROS)
        if size == 0:
            self.idle_frame()

    def messages(self, count: int) -> None:
        """Give back the frames without content that belong to messages."""
        if self._frames:
            self._frames = max(0, self._frames - _FRAMES_OF_A_MESSAGE * count)

    def small_messages(self, count: int) -> None:
        """Count messages that are small on average."""
        self.spend(count * MESSAGE_MICROS)

    def header_block(self, size: int, fields: int) -> None:
        """Count a decoded block of headers."""
        self.spend(BLOCK_MICROS + size * HEADER_BYTE_MICROS + fields * HEADER_MICROS)

    def call(self) -> None:
        """Count a call that begins."""
        self.spend(CALL_MICROS)

    def served_call(self) -> None:
        """Give back the frames without content that belong to a call that both sides have ended."""
        self._frames = max(0, self._frames - _FRAMES_OF_A_CALL)

    def settings(self, size: int) -> None:
        """Count a frame of settings, six bytes each."""
        self.spend(size / 6 * SETTING_MICROS)

    def inflated(self, packed: int, plain: int) -> None:
        """Count a decompressed message that is far longer than its compressed bytes."""
        excess = plain - USUAL_RATIO * packed
        if excess > 0:
            self.spend(excess * INFLATED_BYTE_MICROS)

    def spend(self, micros: float) -> None:
        """Count work of a known cost."""
        self._micros += micros
        if self._micros > self._limits.work_micros:
            raise ProtocolFault(ErrorCode.ENHANCE_YOUR_CALM, "too many headers, tiny frames or compressed bytes")
