"""The servers that a training uses: a data server and an HTTP service at the end of a wire, and a name service.

`python -m tests.benchmarks.labelled.surroundings [--packets]` prints its ports as one line of JSON and then obeys
`Weather`, a line of JSON each, until stdin ends. With `--packets`, in a network namespace of its own, the wire delays
real packets (`wire.py`); else proxies delay the bytes of connections (`delay.py`), and then neither connects nor the
round trips that the kernel measures are late.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import msgspec

from tests.benchmarks.labelled.delay import DelayProxy, Wire
from tests.benchmarks.labelled.plan import REQUEST
from tests.benchmarks.labelled.wire import HERE, THERE, PacketWire, open_wire

ANSWER = b"x" * 256
_BLOCK = bytes(range(256)) * 4096


class Ports(msgspec.Struct, frozen=True):
    """The ports of the servers; `host` is where data and service are reached."""

    data: int
    service: int
    resolver: int
    host: str = "127.0.0.1"

    @property
    def has_packets(self) -> bool:
        """Return True if the wire delays and loses real packets."""
        return self.host == THERE


class Weather(msgspec.Struct, frozen=True):
    """The behaviour of the servers; the defaults disturb nothing."""

    network_seconds: float = 0.0  # more for a round trip to the data server or the service
    bytes_per_second: float = 0.0  # of the network; 0: as fast as it goes
    loss_ratio: float = 0.0  # of the packets that come back; only with a wire of packets
    record_seconds: float = 0.0  # that the data server takes for a request
    service_seconds: float = 0.0  # that the service takes for a call
    health_seconds: float = 0.0  # … and for the request by which its latency is measured
    resolver_seconds: float = 0.0  # that the name service takes


@dataclass(slots=True)
class Surroundings:
    """The servers."""

    weather: Weather = field(default_factory=Weather)
    wires: tuple[Wire, Wire] = field(default_factory=lambda: (Wire(), Wire()))
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _wire: PacketWire | None = None

    async def start(self, *, packets: bool = False) -> Ports:
        """Listen; with `packets`, behind a wire of packets if this process can make one."""
        loop = asyncio.get_running_loop()
        device = open_wire() if packets else None
        here = HERE if device is not None else "127.0.0.1"
        data = await asyncio.start_server(self._serve_data, here, 0)
        service = await asyncio.start_server(self._serve_calls, here, 0)
        transport, _ = await loop.create_datagram_endpoint(lambda: _Resolver(self), local_addr=("127.0.0.1", 0))
        for closing in (data, service, transport):
            self._stack.callback(closing.close)
        ports = [server.sockets[0].getsockname()[1] for server in (data, service)]
        name_port = transport.get_extra_info("sockname")[1]
        if device is not None:
            self._wire = PacketWire(device, ports, *self.wires)
            self._wire.start()
            self._stack.callback(self._wire.stop)
            return Ports(ports[0], ports[1], name_port, THERE)
        proxies = [DelayProxy(port, *self.wires) for port in ports]
        for proxy in proxies:
            await proxy.start()
            self._stack.push_async_callback(proxy.stop)
        return Ports(proxies[0].port, proxies[1].port, name_port)

    async def stop(self) -> None:
        """Close everything."""
        await self._stack.aclose()

    def become(self, weather: Weather) -> None:
        """Change."""
        self.weather = weather
        for wire in self.wires:
            wire.delay_seconds = weather.network_seconds / 2
            wire.bytes_per_second = weather.bytes_per_second
        if self._wire is not None:
            self._wire.lose(weather.loss_ratio)

    async def _serve_data(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Requests of so many bytes each."""
        try:
            while True:
                (count,) = REQUEST.unpack(await reader.readexactly(REQUEST.size))
                if self.weather.record_seconds:
                    await asyncio.sleep(self.weather.record_seconds)
                for start in range(0, count, len(_BLOCK)):
                    writer.write(_BLOCK[: min(len(_BLOCK), count - start)])
                    await writer.drain()
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            writer.close()

    async def _serve_calls(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """HTTP/1.1, keep-alive; `/health` may answer at once, as it does where a database is what is slow."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                weather = self.weather
                seconds = weather.health_seconds if head.startswith(b"GET /health") else weather.service_seconds
                if seconds:
                    await asyncio.sleep(seconds)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, asyncio.CancelledError):
            writer.close()


class _Resolver(asyncio.DatagramProtocol):
    """Answers every question late."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]  # it is one
        self._transport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        if self._transport is not None:
            seconds = self._surroundings.weather.resolver_seconds
            asyncio.get_running_loop().call_later(seconds, self._transport.sendto, data, address)


async def serve(*, packets: bool) -> None:
    """Until stdin ends."""
    surroundings = Surroundings()
    print(msgspec.json.encode(await surroundings.start(packets=packets)).decode(), flush=True)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        surroundings.become(msgspec.json.decode(line, type=Weather))


if __name__ == "__main__":
    asyncio.run(serve(packets="--packets" in sys.argv))
