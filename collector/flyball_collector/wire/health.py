"""The standard gRPC health service (`grpc.health.v1`), which load balancers and Kubernetes query."""

import asyncio
from collections.abc import Collection, Mapping

from google.protobuf.message import DecodeError
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from flyball_collector.wire.call import Call, Handler
from flyball_collector.wire.status import StatusCode

_SERVICE = "grpc.health.v1.Health"


class HealthService:
    """Reports whether each service is served. The empty name means the whole server."""

    def __init__(self, services: Collection[str]) -> None:
        self._services = frozenset(services) | {""}
        self._serving = True
        self._changed = asyncio.Event()

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers by path."""
        return {f"/{_SERVICE}/Check": self._check, f"/{_SERVICE}/Watch": self._watch}

    def stop_serving(self) -> None:
        """Report every service as not serving, also to callers of Watch."""
        self._serving = False
        self._changed.set()

    async def _check(self, call: Call) -> None:
        service = await _requested_service(call)
        if service not in self._services:
            call.abort(StatusCode.NOT_FOUND, f"unknown service {service[:80]!r}")
        await call.write(self._answer(service))

    async def _watch(self, call: Call) -> None:
        service = await _requested_service(call)
        await call.write(self._answer(service))
        if self._serving:
            await self._changed.wait()
            await call.write(self._answer(service))
        await asyncio.Event().wait()  # until the client cancels

    def _answer(self, service: str) -> bytes:
        known = HealthCheckResponse.SERVING if self._serving else HealthCheckResponse.NOT_SERVING
        status = known if service in self._services else HealthCheckResponse.SERVICE_UNKNOWN
        return bytes(HealthCheckResponse(status=status).SerializeToString())


async def _requested_service(call: Call) -> str:
    raw = await call.read()
    try:
        return str(HealthCheckRequest.FromString(raw or b"").service)
    except DecodeError:
        call.abort(StatusCode.INVALID_ARGUMENT, "not a valid HealthCheckRequest")
