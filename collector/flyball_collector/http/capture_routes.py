"""Captures of ranks: order them, follow them, and download their results."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated, Literal

import msgspec
import structlog
from litestar import Request, delete, get, post
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, QueryParameter
from litestar.response import Stream

from flyball_collector.captures.capture import MAX_STEPS, STACKS, Capture, CaptureState
from flyball_collector.captures.hang_captures import MAX_RANKS
from flyball_collector.captures.request import CaptureRequest, TooManyCaptures
from flyball_collector.captures.targets import CaptureTarget, targets_of
from flyball_collector.http.call_limiter import CallLimiter
from flyball_collector.http.collector_parts import CollectorParts, PartsDependency
from flyball_collector.http.encoding import OWN_ENCODING
from flyball_collector.http.errors import ApiError
from flyball_collector.http.guard import token_name
from flyball_collector.http.run_lookup import find_run
from flyball_collector.security.tokens import Role
from flyball_collector.timeline.entry import NOTED, Entry, entry_id
from flyball_collector.times import Moment, moment

_log = structlog.stdlib.get_logger(__name__)

What = Literal["stacks", "trace", "syncs", "memory", "measure"]
_WORDS = {
    "stacks": "the stacks",
    "trace": "a trace",
    "syncs": "the synchronising calls",
    "memory": "a memory snapshot",
    "measure": "measured facts",
}
CaptureId = Annotated[str, PathParameter(max_length=64, description="Id of a capture.")]


class NewCapture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request for captures: of one rank, or by default the stacks of all ranks, and everything else of the lowest."""

    run: str
    what: What
    rank: Annotated[int, msgspec.Meta(ge=0)] | None = None
    steps: Annotated[int, msgspec.Meta(ge=0, le=MAX_STEPS)] = 0  # 0: as many as usual
    max_bytes: Annotated[int, msgspec.Meta(ge=0)] = 0  # 0: the limit of the settings


class CaptureAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One capture. `None` is unknown."""

    id: str
    what: str
    run: str
    rank: int | None
    host: str
    pid: int
    steps: int
    state: str  # ordered, accepted, running, storing, done or failed
    detail: str
    source: str  # py-spy, signal, kernel or client
    by: str  # the name of the operator's token
    condition: str  # of the event that made the collector order it
    ordered: Moment
    ended: Moment | None
    file_name: str
    bytes: int | None
    sha256: str


class CapturesAnswer(msgspec.Struct, frozen=True):
    """Captures, the newest first."""

    captures: list[CaptureAnswer]
    total: int


@post("/captures", summary="Capture ranks of a run", opt={"role": Role.OPERATOR})
async def order_captures(
    request: Request[object, object, State], parts: PartsDependency, data: JSONBody[NewCapture]
) -> CapturesAnswer:
    """Order stacks, a trace of some steps, synchronising calls, memory or measured facts of one rank or all of them.

    The answer comes at once. `GET /captures/{id}` shows the progress.
    """
    find_run(parts, data.run)
    targets = _targets(parts, data)
    wanted = CaptureRequest(data.run, data.what, data.steps, data.max_bytes, token_name(request))
    try:
        ordered = parts.captures.order(wanted, targets)
    except TooManyCaptures as error:
        raise ApiError(503, "busy", str(error), "try again later", retry_seconds=10) from None
    _note(parts, wanted, ordered)
    return CapturesAnswer([_answer(capture) for capture in ordered], len(ordered))


@get("/captures", summary="Captures")
async def list_captures(
    parts: PartsDependency,
    run: Annotated[str, QueryParameter(max_length=255, description="Only this run.")] = "",
    condition: Annotated[str, QueryParameter(max_length=64, description="Only of the event with this condition.")] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=5000)] = 100,
) -> CapturesAnswer:
    """List captures, the newest first. They are kept for `store.events_days`, within `captures.max_bytes`."""
    found = parts.captures.captures.find(run=run, condition=condition)
    return CapturesAnswer([_answer(capture) for capture in found[:limit]], len(found))


@get("/captures/{id:str}", summary="One capture")
async def show_capture(parts: PartsDependency, id: CaptureId) -> CaptureAnswer:  # noqa: A002  the name in the path
    """Return the state of a capture."""
    return _answer(_find(parts, id))


@get("/captures/{id:str}/file", summary="The result of a capture", opt={OWN_ENCODING: True, "role": Role.OPERATOR})
async def capture_file(
    parts: PartsDependency,
    limiter: NamedDependency[CallLimiter],
    id: CaptureId,  # noqa: A002  the name in the path
) -> Stream:
    """Return the file. It may show names of functions and files of the training, so it needs the operator's role."""
    capture = _find(parts, id)
    if capture.state != CaptureState.DONE:
        what = f"capture {id} has no result: {capture.state}{': ' if capture.detail else ''}{capture.detail}"
        raise ApiError(409, "no_result", what, "GET /api/v1/captures/ID shows its state")
    media_type = "text/plain" if capture.file_name.endswith(".txt") else "application/octet-stream"
    name = _file_name(capture)
    headers = {"content-disposition": f'attachment; filename="{name}"', "content-length": str(capture.size_bytes)}
    pieces = parts.captures.archive.parts(capture)
    first = await limiter.call(next, pieces, b"")  # a store that does not answer gives a clear error, not half a file
    return Stream(_stream(first, pieces, limiter), media_type=media_type, headers=headers)


@delete("/captures/{id:str}", summary="Delete a capture", status_code=200, opt={"role": Role.OPERATOR})
async def delete_capture(
    request: Request[object, object, State],
    parts: PartsDependency,
    id: CaptureId,  # noqa: A002  the name in the path
) -> CaptureAnswer:
    """Delete a capture, or give up one that is in progress."""
    capture = _find(parts, id)
    parts.captures.remove(capture)
    _log.info("capture_deleted", id=id, by=token_name(request))
    return _answer(capture)


async def _stream(first: bytes, pieces: Iterator[bytes], limiter: CallLimiter) -> AsyncIterator[bytes]:
    piece = first
    while piece:
        yield piece
        piece = await limiter.call(next, pieces, b"")


def _find(parts: CollectorParts, capture: str) -> Capture:
    found = parts.captures.captures.get(capture)
    if found is None:
        hint = "GET /api/v1/captures lists them"
        raise ApiError(404, "unknown_capture", f"no capture with the id {capture[:64]!r}", hint)
    return found


def _targets(parts: CollectorParts, data: NewCapture) -> Sequence[CaptureTarget]:
    """Return the processes to capture. Raise an error that names what is missing."""
    found = targets_of(parts.fleet, data.run)
    if not found:
        what = f"no process of run {data.run!r} is known to an agent now"
        raise ApiError(409, "no_process", what, "the run has ended, or the agents of its hosts do not report")
    if data.rank is not None:
        found = [target for target in found if target.rank == data.rank]
        if not found:
            raise _unknown_rank(parts, data)
    elif data.what == STACKS:
        found = found[:MAX_RANKS]
    else:
        found = [next((target for target in found if target.has_client), found[0])]
    for target in found:
        _check(target, data.what)
    return found


def _check(target: CaptureTarget, what: str) -> None:
    rank = "the process" if target.rank is None else f"rank {target.rank}"
    if not target.connected:
        raise ApiError(409, "not_connected", f"the host {target.host} of {rank} is not connected", "try again later")
    if what != STACKS and not target.has_client:
        reason = f"{rank} on {target.host} does not report steps to its agent, so only its stacks can be captured"
        raise ApiError(409, "no_client", reason, "start the training with `flyball run --`, or capture stacks")


def _unknown_rank(parts: CollectorParts, data: NewCapture) -> ApiError:
    ranks = sorted({target.rank for target in targets_of(parts.fleet, data.run) if target.rank is not None})
    known = "the ranks of its processes are unknown"
    if ranks:
        known = (
            f"its ranks are {ranks[0]} to {ranks[-1]}" if len(ranks) > 1 else f"its only process has rank {ranks[0]}"
        )
    return ApiError(404, "unknown_rank", f"run {data.run!r} has no process with rank {data.rank} now", known)


def _note(parts: CollectorParts, wanted: CaptureRequest, ordered: Sequence[Capture]) -> None:
    """Add who ordered what to the timeline."""
    now_ns, who = parts.clock(), wanted.by or "a local user"
    ranks = ", ".join(str(capture.rank) for capture in ordered[:8] if capture.rank is not None)
    of = f" of rank{'s' if len(ordered) > 1 else ''} {ranks}{' …' if len(ordered) > 8 else ''}" if ranks else ""
    entry = Entry(
        id=entry_id(now_ns, NOTED, ordered[0].id),
        time_ns=now_ns,
        state=NOTED,
        kind="capture_ordered",
        run=wanted.run,
        host=ordered[0].host if len(ordered) == 1 else "",
        rank=ordered[0].rank if len(ordered) == 1 else None,
        because=f"{who} ordered {_WORDS[wanted.what]}{of}",
    )
    parts.timeline.add(entry)
    _log.info(
        "captures_ordered", by=wanted.by, what=wanted.what, run=wanted.run, captures=[each.id for each in ordered]
    )


def _file_name(capture: Capture) -> str:
    safe = "".join(character if character.isascii() and character.isalnum() else "-" for character in capture.run)[:60]
    rank = "" if capture.rank is None else f"-rank{capture.rank}"
    return f"{safe}{rank}-{capture.file_name}"


def _answer(capture: Capture) -> CaptureAnswer:
    return CaptureAnswer(
        id=capture.id,
        what=capture.what,
        run=capture.run,
        rank=capture.rank,
        host=capture.host,
        pid=capture.pid,
        steps=capture.steps,
        state=capture.state,
        detail=capture.detail,
        source=capture.source,
        by=capture.by,
        condition=capture.condition,
        ordered=moment(capture.ordered_ns),
        ended=moment(capture.ended_ns) if capture.ended_ns else None,
        file_name=_file_name(capture) if capture.file_name else "",
        bytes=capture.size_bytes if capture.state == CaptureState.DONE else None,
        sha256=capture.sha256,
    )


ROUTES = (order_captures, list_captures, show_capture, capture_file, delete_capture)
