"""gRPC messages in a stream of bytes."""

import gzip
import itertools
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.wire.messages import PREFIX, Assembler, framed
from flyball_collector.wire.status import CallEnded, StatusCode

MESSAGES = st.lists(st.binary(max_size=300), max_size=8)


@given(MESSAGES, st.lists(st.integers(0, 3000), max_size=10))
def test_messages_do_not_depend_on_how_bytes_are_split(messages: list[bytes], cuts: list[int]) -> None:
    """A message may begin and end anywhere, and several may arrive together."""
    data, assembler = b"".join(map(framed, messages)), Assembler(300)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    found = [m for start, end in itertools.pairwise(edges) for m in assembler.take(data[start:end])]
    assert found == messages
    assert assembler.between


@given(MESSAGES, st.sampled_from([b"gzip", b"deflate"]))
def test_compressed_messages_are_read(messages: list[bytes], encoding: bytes) -> None:
    """Both compressions work, message by message."""
    assembler = Assembler(300, encoding)
    pack = gzip.compress if encoding == b"gzip" else zlib.compress
    data = b"".join(PREFIX.pack(1, len(pack(m))) + pack(m) for m in messages)
    assert assembler.take(data) == messages


@pytest.mark.parametrize(
    ("encoding", "message", "code"),
    [
        (b"gzip", gzip.compress(bytes(1_000_000)), StatusCode.RESOURCE_EXHAUSTED),
        (b"gzip", b"rubbish", StatusCode.INTERNAL),
        (b"gzip", gzip.compress(b"cut off")[:-9], StatusCode.INTERNAL),
        (b"identity", b"compressed without an encoding", StatusCode.INTERNAL),
    ],
)
def test_a_message_that_cannot_be_decompressed_ends_the_call(encoding: bytes, message: bytes, code: StatusCode) -> None:
    """A kilobyte that would expand to a megabyte is not decompressed in full."""
    with pytest.raises(CallEnded) as caught:
        Assembler(1000, encoding).take(PREFIX.pack(1, len(message)) + message)
    assert caught.value.code is code


def test_decompressed_messages_of_one_frame_are_limited_together() -> None:
    """A frame of 16 KB could otherwise expand to many times the limit before the call ends."""
    packed = gzip.compress(bytes(600))
    with pytest.raises(CallEnded, match="more than 1000 bytes after decompression"):
        Assembler(1000, b"gzip").take((PREFIX.pack(1, len(packed)) + packed) * 2)


def test_the_work_of_decompression_is_reported() -> None:
    """The callback gets the length before and after it."""
    packed, seen = gzip.compress(bytes(600)), []
    Assembler(1000, b"gzip", lambda *sizes: seen.append(sizes)).take(PREFIX.pack(1, len(packed)) + packed)
    assert seen == [(len(packed), 600)]


def test_a_flag_other_than_0_and_1_is_invalid() -> None:
    """doc/PROTOCOL-HTTP2.md of gRPC knows no other."""
    with pytest.raises(CallEnded, match="the flag 2; allowed are 0 and 1"):
        Assembler(1000, b"gzip").take(PREFIX.pack(2, 0))


def test_a_long_message_is_refused_by_its_prefix() -> None:
    """The rest of the message is not awaited."""
    with pytest.raises(CallEnded, match="1001 bytes; the limit is 1000"):
        Assembler(1000).take(PREFIX.pack(0, 1001))
