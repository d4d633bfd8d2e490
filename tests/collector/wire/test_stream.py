"""The states of streams that are not open."""

import pytest

from flyball_collector.wire.frames import ErrorCode, ProtocolFault, StreamFault
from flyball_collector.wire.stream import REMEMBERED, Closed, Streams


def streams_with(way: Closed) -> Streams:
    """Return streams of which number 5 closed in a way."""
    streams = Streams()
    streams.last = 5
    streams.close(5, way)
    return streams


def test_numbers_above_the_last_and_even_ones_are_idle() -> None:
    """A client may use odd numbers only, and each of them once."""
    streams = streams_with(Closed.ENDED)
    assert [number for number in range(10) if streams.idle(number)] == [0, 2, 4, 6, 7, 8, 9]
    for number in (4, 7):
        with pytest.raises(ProtocolFault, match=f"stream {number} is not open"):
            streams.check_used(number)


def test_frames_that_were_under_way_before_our_reset_are_ignored() -> None:
    """The client could not know of it."""
    streams = streams_with(Closed.RESET)
    streams.check_late_data(5)
    streams.check_late_headers(5)


@pytest.mark.parametrize("way", [Closed.ENDED, Closed.CANCELLED])
def test_data_of_a_closed_stream_are_an_error_of_the_stream(way: Closed) -> None:
    """Section 6.1 requires STREAM_CLOSED."""
    with pytest.raises(StreamFault) as caught:
        streams_with(way).check_late_data(5)
    assert caught.value.code is ErrorCode.STREAM_CLOSED


def test_headers_of_a_closed_stream_are_an_error() -> None:
    """Of the stream if the client has reset it, else of the connection; a skipped number has its own."""
    with pytest.raises(StreamFault):
        streams_with(Closed.CANCELLED).check_late_headers(5)
    with pytest.raises(ProtocolFault) as ended:
        streams_with(Closed.ENDED).check_late_headers(5)
    with pytest.raises(ProtocolFault) as skipped:
        streams_with(Closed.ENDED).check_late_headers(3)
    assert (ended.value.code, skipped.value.code) == (ErrorCode.STREAM_CLOSED, ErrorCode.PROTOCOL_ERROR)


def test_memory_of_closed_streams_is_limited() -> None:
    """The oldest one is forgotten, and a stream that closes again becomes the newest."""
    streams = Streams()
    streams.last = 2 * REMEMBERED + 1
    for number in range(1, 2 * REMEMBERED, 2):
        streams.close(number, Closed.RESET)
    streams.close(1, Closed.RESET)
    streams.close(2 * REMEMBERED + 1, Closed.RESET)
    streams.check_late_data(1)
    with pytest.raises(StreamFault):
        streams.check_late_data(3)
