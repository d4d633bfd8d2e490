"""The HTTP application: every route in one list, with the required role."""

from collections.abc import Sequence
from typing import Any

from litestar import Litestar, Request, Router, get
from litestar.config.compression import CompressionConfig
from litestar.datastructures import State
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin, YamlRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import Message, Scope

from flyball_collector.http import (
    adjustment_routes,
    capsule_routes,
    capture_routes,
    diagnosis_routes,
    errors,
    event_routes,
    health_routes,
    host_routes,
    notification_routes,
    page_routes,
    refused_agent_routes,
    run_routes,
    series_routes,
)
from flyball_collector.http.call_limiter import CallLimiter
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.encoding import OWN_ENCODING
from flyball_collector.http.guard import AccessGuard
from flyball_collector.http.metric_declarations import list_metrics
from flyball_collector.http.metrics_routes import collector_metrics, metrics, service_discovery
from flyball_collector.http.overview import Overviews
from flyball_collector.http.overview_route import overview
from flyball_collector.http.recent_answers import RecentAnswers
from flyball_collector.http.run_answers import RunDetails
from flyball_collector.http.version import own_version

# Handlers that need more than the viewer role declare it with `opt={"role": …}`.
API: Sequence[HTTPRouteHandler] = (
    overview,
    host_routes.list_hosts,
    host_routes.show_host,
    host_routes.latest,
    host_routes.live,
    host_routes.remove_host,
    series_routes.series,
    list_metrics,
    event_routes.list_events,
    event_routes.list_conditions,
    event_routes.list_kinds,
    diagnosis_routes.host_diagnosis,
    run_routes.list_runs,
    run_routes.show_named_run,
    run_routes.show_run,
    run_routes.run_diagnosis,
    run_routes.run_by_path,
    diagnosis_routes.list_advice,
    refused_agent_routes.list_refused_agents,
    capsule_routes.capsule,
    *capture_routes.ROUTES,
    *adjustment_routes.ROUTES,
    *notification_routes.ROUTES,
    health_routes.config,
)
SCRAPED: Sequence[HTTPRouteHandler] = (metrics, collector_metrics, service_discovery)
ANYBODY: Sequence[HTTPRouteHandler] = (
    health_routes.alive,
    health_routes.ready,
    page_routes.index,
    page_routes.page_file,
)

# plotly.js sets inline styles, so these must be allowed. Scripts come only from this server.
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SECURITY_HEADERS = [
    (b"content-security-policy", _CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


@get("/openapi.json", include_in_schema=False)
async def openapi(request: Request[object, object, State]) -> dict[str, Any]:
    """Return the description of this API."""
    return request.app.openapi_schema.to_schema()


def build_application(parts: CollectorParts) -> Litestar:
    """Build the application."""
    guard = AccessGuard(parts.tokens, parts.settings.http.listen)
    overviews = Overviews(
        parts.fleet,
        parts.settings,
        parts.timeline,
        parts.diagnosis.conditions,
        parts.findings,
        parts.refused_agents,
    )
    recent_runs = RecentAnswers[RunDetails]()
    limiter = CallLimiter(at_once=4, waiting=16, time_limit_seconds=parts.settings.store.time_limit_seconds)

    async def finish(message: Message, _: Scope) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *_SECURITY_HEADERS]
            parts.own_metrics.http_requests.labels(str(message["status"])).inc()

    return Litestar(
        route_handlers=[
            Router("/api/v1", route_handlers=API, guards=[guard.guard], tags=["api"]),
            Router("/", route_handlers=SCRAPED, guards=[guard.guard], tags=["prometheus"]),
            *ANYBODY,
            openapi,
        ],
        dependencies={
            "parts": Provide(lambda: parts, sync_to_thread=False),
            "recent_runs": Provide(lambda: recent_runs, sync_to_thread=False),
            "overviews": Provide(lambda: overviews, sync_to_thread=False),
            "limiter": Provide(lambda: limiter, sync_to_thread=False),
        },
        exception_handlers=errors.HANDLERS,
        before_send=[finish],
        compression_config=CompressionConfig(
            backend="gzip", minimum_size=1024, gzip_compress_level=1, exclude_opt_key=OWN_ENCODING
        ),
        request_max_body_size=parts.settings.http.max_body_bytes,
        openapi_config=_openapi(),
        logging_config=None,
    )


def _openapi() -> OpenAPIConfig:
    """Configure the description. The renderers that Litestar would add load scripts from other servers."""
    return OpenAPIConfig(
        title="Flyball collector",
        version=own_version(),
        description="Live and stored readings, events and diagnosis of every host of a training fleet.",
        path="/api",
        render_plugins=[JsonRenderPlugin(path="/openapi.json"), YamlRenderPlugin(path="/openapi.yaml")],
        components=Components(security_schemes={"bearer": SecurityScheme(type="http", scheme="bearer")}),
    )
