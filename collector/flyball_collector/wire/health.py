"""The standard gRPC health service (`grpc.health.v1`), which load balancers and Kubernetes query."""

import asyncio
from collections.abc import Collection, Mapping

from google.protobuf.message import DecodeError
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from flyball_collector.wire.call import Call, Handler
from flyball_collector.wire.status import StatusCode

_SERVICE = "grpc.health.v1.Health"
_CHECK, _WATCH = f"/{_SERVICE}/Check", f"/{_SERVICE}/Watch"
REQUEST_BYTES: Mapping[str, int] = {_CHECK: 1024, _WATCH: 1024}
"""The longest request of each method: it holds the name of a service."""

_REQUEST_SECONDS = 10.0
_WATCHERS = 64


class HealthService:
    """Reports whether each service is served. The empty name means the whole server."""

    def __init__(self, services: Collection[str], request_seconds: float = _REQUEST_SECONDS) -> None:
        self._request_seconds = request_seconds
        self.watchers = 0  # open calls of Watch
        self._services = frozenset(services) | {""}
        self._serving = True
        self._changed = asyncio.Event()

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers by path."""
        return {_CHECK: self._check, _WATCH: self._watch}

    def stop_serving(self) -> None:
        """Report every service as not serving, also to callers of Watch."""
        self._serving = False
        self._changed.set()

    async def _check(self, call: Call) -> None:
        service = await self._requested_service(call)
        if service not in self._services:
            call.abort(StatusCode.NOT_FOUND, f"unknown service {service[:80]!r}")
        await call.write(self._answer(service))

    async def _watch(self, call: Call) -> None:
        service = await self._requested_service(call)
        if self.watchers >= _WATCHERS:
            call.abort(StatusCode.RESOURCE_EXHAUSTED, f"{_WATCHERS} calls of Watch are open already; use Check")
        self.watchers += 1
        try:
            await call.write(self._answer(service))
            if self._serving:
                await self._changed.wait()
                await call.write(self._answer(service))
            await asyncio.Event().wait()  # until the client cancels
        finally:
            self.watchers -= 1

    def _answer(self, service: str) -> bytes:
        known = HealthCheckResponse.SERVING if self._serving else HealthCheckResponse.NOT_SERVING
        status = known if service in self._services else HealthCheckResponse.SERVICE_UNKNOWN
        return bytes(HealthCheckResponse(status=status).SerializeToString())

    async def _requested_service(self, call: Call) -> str:
        try:
            raw = await asyncio.wait_for(call.read_only_message(), self._request_seconds)
        except TimeoutError:
            call.abort(StatusCode.DEADLINE_EXCEEDED, f"no request within {self._request_seconds:g} s")
        try:
            return str(HealthCheckRequest.FromString(raw).service)
        except DecodeError:
            call.abort(StatusCode.INVALID_ARGUMENT, "not a valid HealthCheckRequest")
