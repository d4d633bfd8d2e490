"""Routes for silences, which mute notifications."""

import secrets
from typing import Annotated

import msgspec
import structlog
from litestar import Request, delete, get, post
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter

from flyball_collector.http.call_limiter import CallLimiter
from flyball_collector.http.collector_parts import PartsDependency
from flyball_collector.http.errors import ApiError, bad_value
from flyball_collector.http.guard import token_name
from flyball_collector.notify.silences import MAX_SECONDS, SILENCE, Silence, check_matchers
from flyball_collector.security.tokens import Role
from flyball_collector.times import Moment, moment, parse_time

_log = structlog.stdlib.get_logger(__name__)

_MAX_SILENCES = 1000
_MAX_COMMENT = 500


class SilenceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new silence, with either `until` or `seconds`."""

    matchers: dict[str, str]  # kind, severity, host, gpu, run, rank, resource, alertname → a name, or a pattern with *
    until: str = ""
    seconds: float = 0.0
    comment: str = ""


class SilenceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One silence."""

    id: str
    matchers: dict[str, str]
    until: Moment
    created: Moment
    by: str
    comment: str


@get("/silences", summary="Silences in force")
async def list_silences(parts: PartsDependency) -> list[SilenceAnswer]:
    """List the silences in force, the first to end first."""
    return [_answer(silence) for silence in parts.notifier.silences.active(parts.clock())]


@post("/silences", summary="Silence notifications", opt={"role": Role.OPERATOR})
async def add_silence(
    request: Request[object, object, State],
    parts: PartsDependency,
    limiter: NamedDependency[CallLimiter],
    data: JSONBody[SilenceRequest],
) -> SilenceAnswer:
    """Mute matching notifications until the silence ends. The timeline and metrics are not affected."""
    now_ns = parts.clock()
    try:
        check_matchers(data.matchers)
    except ValueError as error:
        raise bad_value("matchers", str(error)) from None
    if len(parts.notifier.silences.active(now_ns)) >= _MAX_SILENCES:
        what = f"the limit of {_MAX_SILENCES} silences is reached"
        raise ApiError(409, "too_many", what, "end one with DELETE /api/v1/silences/ID")
    silence = Silence(
        id=secrets.token_hex(4),
        matchers=data.matchers,
        created_ns=now_ns,
        until_ns=_end_ns(data, now_ns),
        by=token_name(request),
        comment=data.comment[:_MAX_COMMENT],
    )
    await limiter.call(parts.store.put_document, SILENCE, silence.id, msgspec.json.encode(silence))
    parts.notifier.silences.add(silence)
    _log.info("silence_added", id=silence.id, by=silence.by, matchers=silence.matchers)
    return _answer(silence)


@delete("/silences/{id:str}", summary="End a silence", status_code=200, opt={"role": Role.OPERATOR})
async def end_silence(
    request: Request[object, object, State],
    parts: PartsDependency,
    limiter: NamedDependency[CallLimiter],
    id: Annotated[str, PathParameter(max_length=64)],  # noqa: A002  the name in the path
) -> SilenceAnswer:
    """End a silence at once."""
    silence = next((each for each in parts.notifier.silences.active(parts.clock()) if each.id == id), None)
    if silence is None:
        raise ApiError(404, "unknown_silence", f"no silence with the id {id[:64]!r}", "GET /api/v1/silences lists them")
    await limiter.call(parts.store.delete_document, SILENCE, id)
    parts.notifier.silences.remove(id)
    _log.info("silence_ended", id=id, by=token_name(request))
    return _answer(silence)


def _end_ns(request: SilenceRequest, now_ns: int) -> int:
    if bool(request.until) == bool(request.seconds):
        raise bad_value("until", "expected either until, or seconds above 0", "for example seconds: 3600")
    try:
        until_ns = parse_time(request.until, now_ns) if request.until else now_ns + int(request.seconds * 1e9)
    except ValueError as error:
        raise bad_value("until", str(error)) from None
    if not now_ns < until_ns <= now_ns + MAX_SECONDS * 1e9:
        raise bad_value("until", "expected a time between now and a year from now")
    return until_ns


def _answer(silence: Silence) -> SilenceAnswer:
    return SilenceAnswer(
        id=silence.id,
        matchers=dict(silence.matchers),
        until=moment(silence.until_ns),
        created=moment(silence.created_ns),
        by=silence.by,
        comment=silence.comment,
    )


ROUTES = (list_silences, add_silence, end_silence)
