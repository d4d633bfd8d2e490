"""A call as its handler reads it."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from flyball_collector.wire.call import Call
from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.status import CallEnded, StatusCode

if TYPE_CHECKING:
    from flyball_collector.wire.peer import Peer


@dataclass
class PeerDouble:
    """Records the sizes of consumed messages."""

    client: ConnectedClient = field(default_factory=lambda: ConnectedClient(""))
    sizes: list[int] = field(default_factory=list)

    def consumed(self, _stream: int, size: int) -> None:
        self.sizes.append(size)


def made() -> tuple[Call, PeerDouble]:
    peer = PeerDouble()
    return Call(cast("Peer", peer), 1), peer


async def test_messages_are_read_in_order_and_then_there_are_none() -> None:
    """Messages are read in the order of their arrival; each is consumed when it is read."""
    call, peer = made()
    call.deliver(b"one")
    call.deliver(b"three")
    call.finish()
    assert peer.sizes == []
    assert [await call.read(), await call.read(), await call.read()] == [b"one", b"three", None]
    assert peer.sizes == [3, 5]


async def test_a_message_that_the_callback_consumes_does_not_wake_the_reader() -> None:
    """The callback sees each message while a reader waits. The reader gets those that it does not consume."""
    call, peer = made()
    shown: list[bytes] = []

    def on_message(message: bytes) -> bool:
        shown.append(message)
        return message != b"slow"

    call.deliver(b"early")
    assert await call.read(on_message) == b"early"
    assert shown == []
    reader = asyncio.create_task(call.read(on_message))
    await asyncio.sleep(0)
    for message in (b"a", b"bc", b"slow", b"after"):
        call.deliver(message)
    assert await reader == b"slow"
    assert await call.read(on_message) == b"after"
    assert shown == [b"a", b"bc", b"slow"]
    assert peer.sizes == [5, 1, 2, 4, 5]


async def test_the_reader_raises_the_callbacks_exception() -> None:
    """The waiting read raises it, and the callback is not called again."""
    call, _ = made()

    def on_message(_message: bytes) -> bool:
        raise ValueError("unreadable")

    reader = asyncio.create_task(call.read(on_message))
    await asyncio.sleep(0)
    call.deliver(b"x")
    call.deliver(b"y")
    with pytest.raises(ValueError, match="unreadable"):
        await reader
    assert await call.read() == b"y"


async def test_the_only_message_is_read_with_its_end() -> None:
    """A method that takes exactly one message gets it once the client has sent no other."""
    call, _ = made()
    reader = asyncio.create_task(call.read_only_message())
    call.deliver(b"x")
    await asyncio.sleep(0)
    assert not reader.done()
    call.finish()
    assert await reader == b"x"


@pytest.mark.parametrize("messages", [(), (b"x", b"y")])
async def test_another_number_of_messages_ends_a_unary_call(messages: tuple[bytes, ...]) -> None:
    """doc/statuscodes.md of grpc/grpc requires UNIMPLEMENTED for none and for two."""
    call, _ = made()
    for message in messages:
        call.deliver(message)
    call.finish()
    with pytest.raises(CallEnded, match="exactly one request message") as caught:
        await call.read_only_message()
    assert caught.value.code is StatusCode.UNIMPLEMENTED
