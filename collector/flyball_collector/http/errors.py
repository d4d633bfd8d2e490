"""Error answers: one JSON shape, never a traceback."""

from collections.abc import Iterable

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.types import ExceptionHandlersMap

from flyball_collector.http.bad_requests import faults_in_words
from flyball_collector.store.contract import StoreError, StoreUnavailable
from flyball_daemon.suggestion import did_you_mean

_log = structlog.stdlib.get_logger(__name__)


class Fault(msgspec.Struct, frozen=True):
    """An error."""

    code: str
    what: str
    hint: str


class FaultAnswer(msgspec.Struct, frozen=True):
    """The body of every error answer."""

    error: Fault


class ApiError(Exception):
    """A request that cannot be answered, with the reason and a hint."""

    def __init__(self, status: int, code: str, what: str, hint: str = "", *, retry_seconds: int = 0) -> None:
        super().__init__(what)
        self.status = status
        self.code = code
        self.what = what
        self.hint = hint
        self.headers = {"Retry-After": str(retry_seconds)} if retry_seconds else {}


def unknown_host(name: str, known: Iterable[str]) -> ApiError:
    """Return an error for an unknown host, with similar names."""
    return ApiError(404, "unknown_host", f"no host named {name!r}", near(name, known, "GET /api/v1/hosts"))


def unknown_metric(name: str, known: Iterable[str]) -> ApiError:
    """Return an error for an unknown metric, with similar names."""
    return ApiError(404, "unknown_metric", f"no metric named {name!r}", near(name, known, "GET /api/v1/metrics"))


def bad_value(parameter: str, what: str, hint: str = "") -> ApiError:
    """Return an error for an invalid parameter."""
    return ApiError(400, "bad_value", f"{parameter}: {what}", hint)


def near(name: str, known: Iterable[str], listing: str) -> str:
    """Return a hint with similar names, or with the place where names are listed."""
    return did_you_mean(name, list(known)[:5000], most=3, cutoff=0.5) or f"{listing} lists them"


def _answer(status: int, fault: Fault, headers: dict[str, str] | None = None) -> Response[FaultAnswer]:
    return Response(FaultAnswer(fault), status_code=status, headers=headers, media_type="application/json")


def _on_api_error(_: Request[object, object, object], error: ApiError) -> Response[FaultAnswer]:  # type: ignore[type-var]  # no state
    return _answer(error.status, Fault(error.code, error.what, error.hint), error.headers)


def _on_http_error(request: Request[object, object, object], error: HTTPException) -> Response[FaultAnswer]:  # type: ignore[type-var]
    if isinstance(error, ValidationException):
        extra = error.extra if isinstance(error.extra, list) else []
        parameters = request.route_handler.parsed_fn_signature.parameters
        faults = faults_in_words([each for each in extra if isinstance(each, dict)], parameters)
        hint = "GET /openapi.json lists valid values"
        return _answer(400, Fault("bad_value", "; ".join(faults) or error.detail, hint))
    code, hint = _HTTP_FAULTS.get(error.status_code, ("http_error", ""))
    what = f"{request.method} {request.url.path}: {error.detail}" if error.status_code in (404, 405) else error.detail
    return _answer(error.status_code, Fault(code, what, hint), dict(error.headers or {}))


def _on_store_error(_: Request[object, object, object], error: StoreError) -> Response[FaultAnswer]:  # type: ignore[type-var]
    if isinstance(error, StoreUnavailable):
        hint = "live values are still available; try again later"
        return _answer(503, Fault("store_unavailable", str(error), hint), {"Retry-After": "5"})
    return _answer(500, Fault("store_failed", str(error), "see the collector's log"))


def _on_anything(request: Request[object, object, object], error: Exception) -> Response[FaultAnswer]:  # type: ignore[type-var]
    _log.error("request_failed", method=request.method, path=request.url.path, exc_info=error)
    return _answer(500, Fault("internal", "internal error", "see the collector's log"))


_HTTP_FAULTS = {
    400: ("bad_request", "GET /openapi.json lists valid values"),
    404: ("not_found", "GET /openapi.json lists all paths"),
    405: ("method_not_allowed", "GET /openapi.json lists all methods"),
    413: ("body_too_large", "the limit is http.max_body_bytes"),
}

HANDLERS: ExceptionHandlersMap = {
    ApiError: _on_api_error,
    HTTPException: _on_http_error,
    StoreError: _on_store_error,
    Exception: _on_anything,
}
