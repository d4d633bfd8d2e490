"""The proxy makes a wire longer or narrower, and nothing else."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.benchmarks.labelled.delay import DelayProxy, Timetable, Wire


def test_pieces_arrive_late_and_in_order() -> None:
    """Each by the delay; one that left later never overtakes, even when the wire becomes shorter."""
    wire = Wire(delay_seconds=0.1)
    timetable = Timetable(wire)
    assert timetable.arrival(1.0, 500) == pytest.approx(1.1)
    wire.delay_seconds = 0.0
    assert timetable.arrival(1.01, 500) == pytest.approx(1.1)
    assert timetable.arrival(1.5, 500) == pytest.approx(1.5)


def test_a_narrow_wire_is_shared() -> None:
    """The traffic of one connection delays the other."""
    wire = Wire(bytes_per_second=1000)
    one, other = Timetable(wire), Timetable(wire)
    assert one.arrival(0.0, 1000) == pytest.approx(1.0)
    assert other.arrival(0.0, 500) == pytest.approx(1.5)
    assert other.arrival(5.0, 500) == pytest.approx(5.5)


@asynccontextmanager
async def echo_behind(wire_there: Wire, wire_back: Wire) -> AsyncIterator[int]:
    """Start an echo server behind a proxy and return its port."""

    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(repeat, "127.0.0.1", 0)
    proxy = DelayProxy(server.sockets[0].getsockname()[1], wire_there, wire_back)
    await proxy.start()
    try:
        yield proxy.port
    finally:
        await proxy.stop()
        server.close()


async def test_a_round_trip_takes_both_delays_and_no_byte_is_lost() -> None:
    """Also when more travels than one piece holds; the end of the stream arrives, too."""
    sent = bytes(range(256)) * 4000
    async with echo_behind(Wire(0.05), Wire(0.03)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        started = time.monotonic()
        writer.write(sent)
        writer.write_eof()
        assert await reader.readexactly(1) == sent[:1]
        elapsed = time.monotonic() - started
        assert await reader.read(-1) == sent[1:]
        writer.close()
    assert 0.08 <= elapsed < 5.0


async def test_delay_does_not_take_throughput() -> None:
    """Pieces travel side by side: fifty round trips' worth of data come in far less time."""
    async with echo_behind(Wire(0.1), Wire(0.1)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        started = time.monotonic()
        writer.write(bytes(50 * 65536))
        await reader.readexactly(50 * 65536)
        elapsed = time.monotonic() - started
        writer.close()
    assert 0.2 <= elapsed < 8.0  # one after another, the pieces would take ten seconds
