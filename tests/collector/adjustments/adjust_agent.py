"""An agent's stream for adjustments on which a test decides every byte, and a governor that keeps what it gets."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import grpc
from grpc import aio

from flyball_collector.adjustments.streams.adjust_streams import CONNECT
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2

EPOCH = b"e" * 16


class KeepingGovernor:
    """Keeps what the streams pass on. `fault` is its answer to each message."""

    def __init__(self, term: int = 7) -> None:
        self.term = term
        self.fault = ""
        self.taken: list[tuple[str, pb.AgentAdjust]] = []
        self.outcomes: list[tuple[str, telemetry_pb2.AdjustmentOutcome]] = []
        self.lost: list[str] = []

    def take(self, host: str, message: pb.AgentAdjust) -> str:
        self.taken.append((host, message))
        return self.fault

    def take_outcome(self, host: str, outcome: telemetry_pb2.AdjustmentOutcome) -> None:
        self.outcomes.append((host, outcome))

    def host_lost(self, host: str) -> None:
        self.lost.append(host)


class AdjustAgent:
    """One stream."""

    def __init__(self, channel: aio.Channel, call: Any) -> None:
        self._channel = channel
        self._call = call

    @classmethod
    def connect(cls, port: int, credentials: grpc.ChannelCredentials | None = None) -> Self:
        """Open a stream without sending anything."""
        options, address = [("grpc.use_local_subchannel_pool", 1)], f"localhost:{port}"
        if credentials is None:
            channel = aio.insecure_channel(address, options=options)
        else:
            channel = aio.secure_channel(address, credentials, options=options)
        connect: Any = channel.stream_stream  # according to the published stubs serializers are required
        return cls(channel, connect(CONNECT)())

    @classmethod
    async def greeted(cls, port: int, host: str = "node-1", **more: Any) -> Self:
        """Open a stream, and wait for the welcome."""
        agent = cls.connect(port)
        await agent.hello(host, **more)
        assert (await agent.receive()).HasField("welcome")
        return agent

    async def hello(self, host: str = "node-1", epoch: bytes = EPOCH, term: int = 0) -> None:
        await self.send(pb.AgentAdjust(hello=pb.AdjustHello(host=host, epoch=epoch, agent_version="1.2.3", term=term)))

    async def send(self, message: pb.AgentAdjust) -> None:
        await self.send_bytes(message.SerializeToString())

    async def send_bytes(self, body: bytes) -> None:
        """Send one message. A stream that has ended is noticed when it is read."""
        with suppress(asyncio.InvalidStateError, aio.AioRpcError):
            await self._call.write(body)

    async def receive(self) -> pb.CollectorAdjust:
        async with asyncio.timeout(60):
            raw = await self._call.read()
        if not isinstance(raw, bytes):
            raise AssertionError(f"the stream has ended: {await self._call.code()}: {await self._call.details()}")
        return pb.CollectorAdjust.FromString(raw)

    async def ended(self) -> tuple[grpc.StatusCode, str]:
        """Wait for the end of the stream. Return its status and message."""
        async with asyncio.timeout(60):
            with suppress(aio.AioRpcError):
                while isinstance(await self._call.read(), bytes):
                    pass
            return await self._call.code(), str(await self._call.details())

    async def close(self) -> None:
        """Disconnect."""
        self._call.cancel()
        await self._channel.close(None)


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition is true."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  another task makes it true
            await asyncio.sleep(0.01)
