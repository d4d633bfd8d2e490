"""One case of conformance: what a client sends, and what has to come back."""

from collections.abc import Callable
from dataclasses import dataclass, field

from flyball_collector.wire.hpack import Decoder, Header
from tests.outside.frames import GOAWAY, HEADERS, PING, RESET, SETTINGS

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED = range(6)
FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM = range(6, 12)
END_STREAM = 0x1
Frame = tuple[int, int, int, bytes]  # type, flags, stream and payload


@dataclass
class Transcript:
    """Holds all frames that the server has sent."""

    frames: list[Frame] = field(default_factory=list)
    closed: bool = False

    def of(self, kind: int, stream: int | None = None) -> list[Frame]:
        """Return the frames of one type, of one stream if it is given."""
        return [frame for frame in self.frames if frame[0] == kind and stream in {None, frame[2]}]

    def ended(self, stream: int) -> bool:
        """Return True once the server has ended or reset a stream."""
        return any(
            kind == RESET or (kind in {0, HEADERS} and flags & END_STREAM)
            for kind, flags, number, _ in self.frames
            if number == stream
        )

    def headers(self, stream: int) -> dict[bytes, bytes]:
        """Return all headers and trailers that came on a stream."""
        decoder = Decoder(100_000)
        decoded: list[Header] = []
        for _, _, number, block in self.of(HEADERS):
            headers = decoder.decode(block)
            decoded += headers if number == stream else []
        return dict(decoded)

    def content(self, stream: int) -> bytes:
        """Return the content of all DATA frames of a stream."""
        return b"".join(payload for _, _, _, payload in self.of(0, stream))

    @property
    def faults(self) -> list[tuple[int, int, int]]:
        """Return each reset and GOAWAY: type, stream and code. A reset after a complete answer is not a fault."""
        found = []
        for kind, _, stream, payload in self.frames:
            if kind == RESET:
                found.append((kind, stream, int.from_bytes(payload)))
            elif kind == GOAWAY:
                found.append((kind, int.from_bytes(payload[:4]), int.from_bytes(payload[4:8])))
        return [fault for fault in found if fault[0] == GOAWAY or fault[2] != NO_ERROR]


@dataclass(frozen=True)
class Expected:
    """Decides if the outcome has arrived and is right. `survives` is False if the connection has to end."""

    description: str
    arrived: Callable[[Transcript], bool]
    right: Callable[[Transcript], bool]
    survives: bool = True

    def __repr__(self) -> str:
        return self.description


def connection_error(code: int, last: int | None = None) -> Expected:
    """GOAWAY with this code, and with the last stream that was served, then the end of the connection."""

    def right(seen: Transcript) -> bool:
        if not seen.frames or seen.frames[-1][0] != GOAWAY:
            return False
        number, got = (int.from_bytes(seen.frames[-1][3][at : at + 4]) for at in (0, 4))
        return seen.closed and got == code and last in {None, number}

    return Expected(f"connection error {code}, last stream {last}", lambda seen: seen.closed, right, survives=False)


def stream_error(code: int, stream: int = 1) -> Expected:
    """RST_STREAM with this code once, and no other fault."""
    return Expected(
        f"stream error {code} on {stream}",
        lambda seen: bool(seen.faults),
        lambda seen: seen.faults == [(RESET, stream, code)],
    )


def answer(stream: int = 1, content: bytes | None = None, **headers: str) -> Expected:
    """A complete answer with these headers, without a fault. `grpc_status="0"` is the header `grpc-status`."""
    wanted = {
        (":" * (name == "status") + name.replace("_", "-")).encode(): text.encode() for name, text in headers.items()
    }

    def right(seen: Transcript) -> bool:
        right_content = content is None or seen.content(stream) == content
        return wanted.items() <= seen.headers(stream).items() and right_content and not seen.faults

    return Expected(f"answer {headers} on {stream}", lambda seen: seen.ended(stream), right)


def nothing() -> Expected:
    """No fault: what was sent has no effect."""
    return Expected("nothing", lambda _seen: True, lambda seen: not seen.faults)


def frames(right: Callable[[Transcript], bool], description: str, count: int = 1, kind: int | None = None) -> Expected:
    """Frames that fulfil a condition, without a fault, once `count` frames of a type have come."""

    def arrived(seen: Transcript) -> bool:
        return kind is None or len(seen.of(kind)) >= count

    return Expected(description, arrived, lambda seen: right(seen) and not seen.faults)


def pongs(seen: Transcript) -> list[bytes]:
    """Return the payloads of answered pings."""
    return [payload for _, flags, _, payload in seen.of(PING) if flags & 0x1]


def acknowledgements(seen: Transcript) -> int:
    """Return how many settings were acknowledged."""
    return sum(flags & 0x1 for _, flags, _, _ in seen.of(SETTINGS))


@dataclass(frozen=True)
class Ended:
    """A step that waits until the server has ended a stream."""

    stream: int


@dataclass(frozen=True)
class Came:
    """A step that waits until a number of frames of a type have come."""

    kind: int
    count: int = 1


Step = bytes | Ended | Came


@dataclass(frozen=True)
class Case:
    """A named case of one section of a standard."""

    section: str
    name: str
    steps: tuple[Step, ...]
    expected: Expected
    greeted: bool = True  # the client begins as it should

    @property
    def id(self) -> str:
        """Return a name for the test."""
        return f"{self.section} {self.name}"


def case(section: str, name: str, expected: Expected, *steps: Step, greeted: bool = True) -> Case:
    """Return a case."""
    return Case(section, name, steps, expected, greeted)
