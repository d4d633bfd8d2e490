"""A call of gRPC's client that sends raw bytes as messages."""

import queue
from collections.abc import Callable
from typing import Self

import grpc

from flyball_proto.v1 import telemetry_pb2 as pb
from tests.outside.agent_messages import CONNECT

SECONDS = 60.0


class RawStream:
    """A stream to a collector that stays open until the block ends."""

    def __init__(self, channel: grpc.Channel, compression: grpc.Compression | None = None) -> None:
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        method = channel.stream_stream(CONNECT, None, pb.CollectorMessage.FromString)
        self._replies = method(iter(self._outgoing.get, None), timeout=SECONDS, compression=compression)

    def send(self, *messages: bytes) -> None:
        """Send messages."""
        for message in messages:
            self._outgoing.put(message)

    def wait(self, condition: Callable[[pb.CollectorMessage], bool]) -> None:
        """Read replies until one meets the condition. Raises `grpc.RpcError` if the stream fails."""
        for reply in self._replies:
            if condition(reply):
                return
        raise AssertionError("the collector ended the stream with OK")

    def wait_welcome(self) -> None:
        """Wait for the answer to a hello, which the collector sends when it has read everything before it."""
        self.wait(lambda reply: reply.HasField("welcome"))

    def wait_refused(self) -> grpc.StatusCode:
        """Read to the end of the stream, which must fail. Return its status."""
        try:
            for _ in self._replies:
                pass
        except grpc.RpcError as error:
            return error.code()
        raise AssertionError("the collector ended the stream with OK")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._outgoing.put(None)
        self._replies.cancel()  # type: ignore[no-untyped-call]  # the stubs lack it
