"""The routes for Prometheus: metrics of the fleet or of one target, and service discovery."""

from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.datastructures import State
from litestar.params import QueryParameter

from flyball_collector.exporter.discovery import service_discovery as targets
from flyball_collector.exporter.negotiation import ExpositionFormat, accepts_gzip, choose_format
from flyball_collector.http.collector_parts import PartsDependency
from flyball_collector.http.encoding import OWN_ENCODING
from flyball_collector.http.errors import unknown_host


@get("/metrics", summary="Prometheus metrics", media_type="text/plain", opt={OWN_ENCODING: True})
async def metrics(
    request: Request[object, object, State],
    parts: PartsDependency,
    target: Annotated[str | None, QueryParameter(description="One host, without the label instance.")] = None,
) -> Response[bytes]:
    """Return metrics of all hosts (scrape with honor_labels) or one; OpenMetrics or text 0.0.4; gzip if accepted."""
    format_ = choose_format(request.headers.get("accept", ""))
    gzip = accepts_gzip(request.headers.get("accept-encoding", ""))
    if target is None:
        body: bytes | None = await parts.renderings.of_fleet(format_, gzip=gzip)
    else:
        body = parts.renderings.of_host(target, format_, gzip=gzip)
    if body is None:
        raise unknown_host(target or "", [host.name for host in parts.fleet.hosts()])
    return _page(body, format_, gzip=gzip)


@get("/metrics/collector", summary="The collector's own metrics", media_type="text/plain", opt={OWN_ENCODING: True})
async def collector_metrics(request: Request[object, object, State], parts: PartsDependency) -> Response[bytes]:
    """Return the collector's own metrics, for use with hosts as separate targets, without rendering the fleet."""
    format_ = choose_format(request.headers.get("accept", ""))
    gzip = accepts_gzip(request.headers.get("accept-encoding", ""))
    return _page(parts.renderings.of_collector(format_, gzip=gzip), format_, gzip=gzip)


def _page(body: bytes, format_: ExpositionFormat, *, gzip: bool) -> Response[bytes]:
    headers = {"Vary": "Accept, Accept-Encoding", "Cache-Control": "no-store"}
    if gzip:
        headers["Content-Encoding"] = "gzip"
    return Response(body, headers=headers, media_type=format_.value)


@get("/sd", summary="Prometheus service discovery")
async def service_discovery(request: Request[object, object, State], parts: PartsDependency) -> list[dict[str, Any]]:
    """Return every host as a target for http_sd_configs, at the address of this request."""
    address = request.headers.get("host", parts.settings.http.listen)
    return targets(parts.fleet.hosts(), address, request.url.scheme)
