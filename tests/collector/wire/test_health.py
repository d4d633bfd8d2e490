"""The health service, queried with its generated client."""

import asyncio

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from flyball_collector.wire.events import Limits
from flyball_collector.wire.health import REQUEST_BYTES, HealthService
from tests.collector.wire.test_server import running, until


async def test_check_reports_each_service() -> None:
    """The empty name means the whole server; an unknown service ends the call with NOT_FOUND."""
    async with running() as here, here.channel() as channel:
        stub = HealthStub(channel)
        for service in ("", "t"):
            answer = await stub.Check(HealthCheckRequest(service=service), timeout=60)
            assert answer.status == HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(HealthCheckRequest(service="other"), timeout=60)
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_watchers_see_the_end_of_service() -> None:
    """A watcher gets one status at the start and one when the server stops serving."""
    async with running() as here, here.channel() as channel:
        watch = HealthStub(channel).Watch(HealthCheckRequest(service="t"), timeout=60)
        unknown = HealthStub(channel).Watch(HealthCheckRequest(service="other"), timeout=60)
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


async def test_a_request_is_short_and_soon() -> None:
    """A longer one ends its call, and so does a call without a request."""
    limits = Limits(4_000_000, REQUEST_BYTES)
    async with running(limits, health=HealthService(("t",), request_seconds=0.2)) as here, here.channel() as channel:
        for method in ("Check", "Watch"):
            path = f"/grpc.health.v1.Health/{method}"
            long = channel.unary_stream(path)(HealthCheckRequest(service="x" * 2000).SerializeToString())
            assert await long.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert "the limit is 1024" in await long.details()
            missing = channel.stream_stream(path)()
            assert await missing.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_the_number_of_watchers_is_limited() -> None:
    """One more is refused, and one that ends makes room."""
    request = HealthCheckRequest(service="t").SerializeToString()
    limits = Limits(4_000_000, streams=100)
    async with running(limits) as here, here.channel() as channel:
        watches = [channel.unary_stream("/grpc.health.v1.Health/Watch")(request) for _ in range(64)]
        for watch in watches:
            await watch.read()
        one_more = channel.unary_stream("/grpc.health.v1.Health/Watch")(request, timeout=60)
        assert await one_more.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        watches[0].cancel()
        await until(lambda: here.health.watchers == 63)
        freed = channel.unary_stream("/grpc.health.v1.Health/Watch")(request)
        assert HealthCheckResponse.FromString(await freed.read()).status == HealthCheckResponse.SERVING
        watches.append(freed)
        for watch in watches:
            watch.cancel()
