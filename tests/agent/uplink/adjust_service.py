"""The Adjust service of a collector on which a test decides everything, over real gRPC."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio

from flyball_agent.uplink.adjust_stream import METHOD
from flyball_proto.v1 import adjust_pb2 as adjust


class ScriptedAdjustService:
    """Keeps what each stream sends. `refuse` ends every new stream with a status."""

    def __init__(self, term: int = 1) -> None:
        self.term = term
        self.streams: list[list[adjust.AgentAdjust]] = []
        self.opened: list[float] = []  # when, on the clock of the event loop
        self.refuse: tuple[grpc.StatusCode, str] | None = None
        self._open: list[asyncio.Queue[adjust.CollectorAdjust | None]] = []

    @property
    def handler(self) -> "grpc.GenericRpcHandler[Any, Any]":
        """Return what a server adds."""
        service, method = METHOD.strip("/").split("/")
        connect = grpc.stream_stream_rpc_method_handler(
            self._connect,
            request_deserializer=adjust.AgentAdjust.FromString,
            response_serializer=adjust.CollectorAdjust.SerializeToString,
        )
        return grpc.method_handlers_generic_handler(service, {method: connect})

    def send(self, message: adjust.CollectorAdjust) -> None:
        """Send a message on the newest stream."""
        self._open[-1].put_nowait(message)

    def end(self) -> None:
        """End the newest stream."""
        self._open[-1].put_nowait(None)

    def kinds(self, stream: int = -1) -> list[str]:
        """Return the kinds of the messages of a stream."""
        return [each.WhichOneof("kind") or "" for each in self.streams[stream]]

    async def _connect(
        self, requests: AsyncIterator[adjust.AgentAdjust], context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[adjust.CollectorAdjust]:
        received: list[adjust.AgentAdjust] = []
        self.streams.append(received)
        self.opened.append(asyncio.get_running_loop().time())
        outbox: asyncio.Queue[adjust.CollectorAdjust | None] = asyncio.Queue()
        self._open.append(outbox)
        reading = asyncio.create_task(_read(requests, received))
        try:
            while not received:  # noqa: ASYNC110  the hello comes first
                await asyncio.sleep(0.01)
            if self.refuse is not None:
                await context.abort(*self.refuse)
            yield adjust.CollectorAdjust(welcome=adjust.AdjustWelcome(term=self.term))
            while (message := await outbox.get()) is not None:
                yield message
        finally:
            reading.cancel()


async def _read(requests: AsyncIterator[adjust.AgentAdjust], received: list[adjust.AgentAdjust]) -> None:
    async for message in requests:
        received.append(message)  # noqa: PERF401  others look at it meanwhile
