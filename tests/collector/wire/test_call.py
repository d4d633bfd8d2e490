"""A call as its handler reads it."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from flyball_collector.wire.call import Call

if TYPE_CHECKING:
    from flyball_collector.wire.peer import Peer


@dataclass
class PeerDouble:
    """Counts what was taken."""

    names: frozenset[str] = frozenset()
    sizes: list[int] = field(default_factory=list)

    def taken(self, _stream: int, size: int) -> None:
        self.sizes.append(size)


def made() -> tuple[Call, PeerDouble]:
    peer = PeerDouble()
    return Call(cast("Peer", peer), 1), peer


async def test_messages_are_read_in_order_and_then_there_are_none() -> None:
    """Those that came first are read first; room is given back for each as it is read."""
    call, peer = made()
    call.give(b"one")
    call.give(b"three")
    call.finish()
    assert peer.sizes == []
    assert [await call.read(), await call.read(), await call.read()] == [b"one", b"three", None]
    assert peer.sizes == [3, 5]


async def test_what_is_taken_at_once_wakes_nobody() -> None:
    """A reader who waits is shown each message, and goes on waiting for those that it did not take."""
    call, peer = made()
    shown: list[bytes] = []

    def at_once(message: bytes) -> bool:
        shown.append(message)
        return message != b"slow"

    call.give(b"early")
    assert await call.read(at_once) == b"early"
    assert shown == []
    reader = asyncio.create_task(call.read(at_once))
    await asyncio.sleep(0)
    for message in (b"a", b"bc", b"slow", b"after"):
        call.give(message)
    assert await reader == b"slow"
    assert await call.read(at_once) == b"after"
    assert shown == [b"a", b"bc", b"slow"]
    assert peer.sizes == [5, 1, 2, 4, 5]


async def test_what_goes_wrong_at_once_is_the_readers() -> None:
    """It is raised where the message would have been read, and nothing more is shown."""
    call, _ = made()

    def at_once(_message: bytes) -> bool:
        raise ValueError("unreadable")

    reader = asyncio.create_task(call.read(at_once))
    await asyncio.sleep(0)
    call.give(b"x")
    call.give(b"y")
    with pytest.raises(ValueError, match="unreadable"):
        await reader
    assert await call.read() == b"y"
