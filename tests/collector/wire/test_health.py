"""The health service, asked by its own generated client."""

import asyncio

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from tests.collector.wire.test_server import running


async def test_each_service_is_asked_for_by_name() -> None:
    """The empty name stands for all; an unknown one is no status but a fault."""
    async with running() as here, here.channel() as channel:
        stub = HealthStub(channel)
        for service in ("", "t"):
            answer = await stub.Check(HealthCheckRequest(service=service), timeout=5)
            assert answer.status == HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(HealthCheckRequest(service="other"), timeout=5)
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_who_watches_is_told_of_the_end() -> None:
    """Once at the start, and once when the server stops serving."""
    async with running() as here, here.channel() as channel:
        watch = HealthStub(channel).Watch(HealthCheckRequest(service="t"), timeout=5)
        unknown = HealthStub(channel).Watch(HealthCheckRequest(service="other"), timeout=5)
        assert (await watch.read()).status == HealthCheckResponse.SERVING
        assert (await unknown.read()).status == HealthCheckResponse.SERVICE_UNKNOWN
        here.health.stop_serving()
        assert (await watch.read()).status == HealthCheckResponse.NOT_SERVING
        watch.cancel()
        unknown.cancel()
        await asyncio.sleep(0)


async def test_rubbish_is_no_question() -> None:
    """Bytes that are no request are told so."""
    async with running() as here, here.channel() as channel:
        call = channel.unary_unary("/grpc.health.v1.Health/Check")(b"\xff")
        assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT
