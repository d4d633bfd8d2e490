"""gRPC's client for asyncio, which agents use, is served with and without TLS."""

import asyncio
import secrets
from collections.abc import AsyncIterator

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from flyball_proto.v1 import telemetry_pb2 as pb
from tests.outside.agent_messages import CONNECT, hello, layout, of_a_later_version, records
from tests.outside.door import SecuredCollector
from tests.outside.doors import Door
from tests.processes import Collector

SECONDS = 60.0


@pytest.fixture(params=["tls", "plaintext"])
def door(request: pytest.FixtureRequest, secured: SecuredCollector, plain: Collector) -> Door:
    """Each test runs with TLS and without."""
    return Door(secured if request.param == "tls" else plain)


async def test_a_stream_in_both_directions(door: Door) -> None:
    """A hello is answered, records are acknowledged on the open stream, and half-closing ends the call with OK."""
    epoch = secrets.token_bytes(16)
    async with door.aio_channel("aio") as channel:
        stream = channel.stream_stream(CONNECT, None, pb.CollectorMessage.FromString)(None, timeout=SECONDS)
        await stream.write(hello("aio", epoch))
        welcome = await stream.read()
        assert isinstance(welcome, pb.CollectorMessage)
        assert welcome.HasField("welcome")
        await stream.write(layout())
        for first in range(0, 120, 10):
            await stream.write(records(epoch, range(first, first + 10)))
        settled = 0
        while settled < 120:
            reply = await stream.read()
            assert isinstance(reply, pb.CollectorMessage)
            settled = reply.acknowledgement.settled
        await stream.done_writing()
        assert await stream.code() is grpc.StatusCode.OK


async def test_two_hundred_calls_at_once(door: Door) -> None:
    """A client that opens as many calls as the server allows at a time gets an answer to each of two hundred."""
    async with door.aio_channel("aio") as channel:
        check = HealthStub(channel).Check
        answers = await asyncio.gather(*(check(HealthCheckRequest(), timeout=SECONDS) for _ in range(200)))
    assert {answer.status for answer in answers} == {HealthCheckResponse.SERVING}


async def test_cancelled_streams_leave_room(door: Door) -> None:
    """A task that is cancelled in the middle of a large message leaves the connection usable."""

    async def large() -> AsyncIterator[bytes]:
        yield hello("aio", secrets.token_bytes(16))
        while True:
            yield of_a_later_version(400_000)

    async with door.aio_channel("aio") as channel:
        for _ in range(12):  # more than the calls that one connection may have open
            stream = channel.stream_stream(CONNECT, None, pb.CollectorMessage.FromString)(large(), timeout=SECONDS)
            assert await stream.read()
            stream.cancel()
        answer = await HealthStub(channel).Check(HealthCheckRequest(), timeout=SECONDS)
    assert answer.status == HealthCheckResponse.SERVING


async def test_a_deadline_ends_only_its_call(door: Door) -> None:
    """A health watch with a deadline reports the present state, then ends with DEADLINE_EXCEEDED."""
    async with door.aio_channel("aio") as channel:
        watch = HealthStub(channel).Watch(HealthCheckRequest(), timeout=0.5)
        first = await watch.read()
        assert isinstance(first, HealthCheckResponse)
        assert first.status == HealthCheckResponse.SERVING
        with pytest.raises(grpc.RpcError) as late:
            await watch.read()
        assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert (await HealthStub(channel).Check(HealthCheckRequest(), timeout=SECONDS)).status
