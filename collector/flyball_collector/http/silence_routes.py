"""Silences over HTTP: what nobody is to be told of, until when."""

import secrets
from typing import Annotated

import msgspec
import structlog
from litestar import Request, delete, get, post
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter

from flyball_collector.http.errors import ApiError, bad_value
from flyball_collector.http.guard import who
from flyball_collector.http.parts import Here
from flyball_collector.http.turnstile import Turnstile
from flyball_collector.notify.silences import LONGEST_SECONDS, SILENCE, Silence, check_matchers
from flyball_collector.security.tokens import Role
from flyball_collector.times import Moment, moment, parse_time

_log = structlog.stdlib.get_logger(__name__)

_MOST = 1000
_LONGEST_COMMENT = 500


class SilenceAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be silenced, and for how long: one of `until` and `seconds`."""

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
async def list_silences(parts: Here) -> list[SilenceAnswer]:
    """The first to end first."""
    return [_told(silence) for silence in parts.silences.active(parts.clock())]


@post("/silences", summary="Silence notifications", opt={"role": Role.OPERATOR})
async def add_silence(
    request: Request[object, object, State],
    parts: Here,
    turnstile: NamedDependency[Turnstile],
    data: JSONBody[SilenceAsked],
) -> SilenceAnswer:
    """Hold back notifications that fit, until its end; the timeline and the metrics go on."""
    now_ns = parts.clock()
    try:
        check_matchers(data.matchers)
    except ValueError as error:
        raise bad_value("matchers", str(error)) from None
    if len(parts.silences.active(now_ns)) >= _MOST:
        raise ApiError(409, "too_many", f"{_MOST} silences are in force", "end one first: DELETE /api/v1/silences/ID")
    silence = Silence(
        id=secrets.token_hex(4),
        matchers=data.matchers,
        created_ns=now_ns,
        until_ns=_end_ns(data, now_ns),
        by=who(request),
        comment=data.comment[:_LONGEST_COMMENT],
    )
    await turnstile.call(parts.store.put_document, SILENCE, silence.id, msgspec.json.encode(silence))
    parts.silences.add(silence)
    _log.info("silence_added", id=silence.id, by=silence.by, matchers=silence.matchers)
    return _told(silence)


@delete("/silences/{id:str}", summary="End a silence", status_code=200, opt={"role": Role.OPERATOR})
async def end_silence(
    request: Request[object, object, State],
    parts: Here,
    turnstile: NamedDependency[Turnstile],
    id: Annotated[str, PathParameter(max_length=64)],  # noqa: A002  so the path calls it
) -> SilenceAnswer:
    """Speak again at once."""
    silence = next((each for each in parts.silences.active(parts.clock()) if each.id == id), None)
    if silence is None:
        raise ApiError(404, "unknown_silence", f"no silence in force is called {id[:64]!r}", "GET /api/v1/silences")
    await turnstile.call(parts.store.delete_document, SILENCE, id)
    parts.silences.remove(id)
    _log.info("silence_ended", id=id, by=who(request))
    return _told(silence)


def _end_ns(asked: SilenceAsked, now_ns: int) -> int:
    if bool(asked.until) == bool(asked.seconds):
        raise bad_value("until", "expected one of until and seconds", "for example seconds: 3600")
    try:
        until_ns = parse_time(asked.until, now_ns) if asked.until else now_ns + int(asked.seconds * 1e9)
    except ValueError as error:
        raise bad_value("until", str(error)) from None
    if not now_ns < until_ns <= now_ns + LONGEST_SECONDS * 1e9:
        raise bad_value("until", "expected a time between now and a year from now")
    return until_ns


def _told(silence: Silence) -> SilenceAnswer:
    return SilenceAnswer(
        id=silence.id,
        matchers=dict(silence.matchers),
        until=moment(silence.until_ns),
        created=moment(silence.created_ns),
        by=silence.by,
        comment=silence.comment,
    )
