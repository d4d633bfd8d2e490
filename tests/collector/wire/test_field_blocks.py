"""Field blocks from HEADERS and CONTINUATION frames."""

import pytest

from flyball_collector.wire import frames
from flyball_collector.wire.events import Limits
from flyball_collector.wire.field_blocks import FieldBlocks, check_priority, unpadded
from flyball_collector.wire.frames import ErrorCode, ProtocolFault, StreamFault
from flyball_collector.wire.hpack import encode
from flyball_collector.wire.work import ClientWork
from tests.collector.wire.client_frames import headers

LIMITS = Limits(message_bytes=1000, header_bytes=500)
BLOCK = encode(headers())


def blocks() -> FieldBlocks:
    return FieldBlocks(LIMITS, ClientWork(LIMITS))


def test_a_block_may_come_in_parts() -> None:
    """The end of the stream is announced by the first frame, and only this stream may go on."""
    assembling = blocks()
    assert assembling.begin(7, frames.END_STREAM, BLOCK[:5]) is None
    assert assembling.incomplete == 7
    assert assembling.go_on(0, BLOCK[5:9]) is None
    assert assembling.go_on(frames.END_HEADERS, BLOCK[9:]) == (headers(), True, False)
    assert blocks().incomplete is None


def test_a_block_that_never_ends_is_refused() -> None:
    """A flood of CONTINUATION frames holds no more than the limit."""
    assembling = blocks()
    assembling.begin(1, 0, b"")
    for _ in range(5):
        assembling.go_on(0, bytes(100))
    with pytest.raises(ProtocolFault, match="more than 500 bytes of headers"):
        assembling.go_on(0, b"x")


@pytest.mark.parametrize(("parent", "own"), [(1, True), (1 << 31 | 1, True), (3, False), (0, False)])
def test_a_stream_that_depends_on_itself_is_noted(parent: int, *, own: bool) -> None:
    """The exclusive bit is not a part of the number."""
    flags = frames.END_HEADERS | frames.PRIORITIZED
    block = blocks().begin(1, flags, parent.to_bytes(4) + b"\x0f" + BLOCK)
    assert block is not None
    assert block.own_parent is own


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (bytes(4), ErrorCode.FRAME_SIZE_ERROR),
        (bytes(6), ErrorCode.FRAME_SIZE_ERROR),
        (b"\0\0\0\x01\0", ErrorCode.PROTOCOL_ERROR),
    ],
)
def test_an_invalid_priority_is_a_fault_of_its_stream(payload: bytes, code: ErrorCode) -> None:
    """Its size, and a stream that depends on itself."""
    check_priority(3, b"\0\0\0\x01\0")
    with pytest.raises(StreamFault) as caught:
        check_priority(1, payload)
    assert caught.value.code is code


def test_padding_is_removed() -> None:
    """It must be shorter than the frame."""
    assert unpadded(b"\x02abcd") == b"ab"
    for payload, code in ((b"", ErrorCode.FRAME_SIZE_ERROR), (b"\x01", ErrorCode.PROTOCOL_ERROR)):
        with pytest.raises(ProtocolFault) as caught:
            unpadded(payload)
        assert caught.value.code is code
