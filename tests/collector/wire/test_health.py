"""The health service, queried with its generated client."""

import asyncio

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from tests.collector.wire.test_server import running


async def test_check_reports_each_service() -> None:
    """The empty name means the whole server; an unknown service ends the call with NOT_FOUND."""
    async with running() as here, here.channel() as channel:
        stub = HealthStub(channel)
        for service in ("", "t"):
            answer = await stub.Check(HealthCheckRequest(service=service), timeout=5)
            assert answer.status == HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(HealthCheckRequest(service="other"), timeout=5)
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_watchers_see_the_end_of_service() -> None:
    """A watcher gets one status at the start and one when the server stops serving."""
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


async def test_an_invalid_request_is_refused() -> None:
    """Bytes that are not a HealthCheckRequest end the call with INVALID_ARGUMENT."""
    async with running() as here, here.channel() as channel:
        call = channel.unary_unary("/grpc.health.v1.Health/Check")(b"\xff")
        assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT
