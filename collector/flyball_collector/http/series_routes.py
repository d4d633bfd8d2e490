"""Readings over time, by the second or by the minute."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np
from litestar import Request, Response, get
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from flyball_collector.blocks.block import RowGroup
from flyball_collector.exporter.negotiation import accepts_gzip
from flyball_collector.http.declarations import declared
from flyball_collector.http.encoding import OWN_ENCODING
from flyball_collector.http.errors import ApiError, bad_value, unknown_metric
from flyball_collector.http.host_routes import HostName, find_host
from flyball_collector.http.parts import Here, Parts
from flyball_collector.http.series_query import (
    Floats,
    Line,
    TooManyValues,
    rates,
    read_minutes,
    read_seconds,
)
from flyball_collector.http.turnstile import Turnstile
from flyball_collector.store.contract import Store
from flyball_collector.times import Moment, moment, parse_time
from flyball_proto.layout import Layout

MAX_METRICS = 32
MAX_SECONDS = {"1s": 86_400, "1m": 32 * 86_400}
_AUTOMATIC_NS = 3600 * 10**9

Time = Annotated[str, QueryParameter(description="RFC 3339, unix seconds, now, or relative such as -15m.")]


class SeriesLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One column; null is unknown. By the minute `values` are means, and counts say of how many records."""

    metric: str
    labels: dict[str, str]
    unit: str
    kind: str
    values: list[float]
    minimum: list[float] | msgspec.UnsetType = msgspec.UNSET
    maximum: list[float] | msgspec.UnsetType = msgspec.UNSET
    counts: list[int] | msgspec.UnsetType = msgspec.UNSET


class SeriesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Lines on one axis."""

    host: str
    step: str
    start: Moment
    end: Moment
    times_unix: list[float]
    series: list[SeriesLine]


@dataclass(frozen=True, slots=True)
class _Question:
    host: str
    metrics: tuple[str, ...]
    start_ns: int
    end_ns: int
    step: str
    rate: bool

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


@get("/hosts/{name:str}/series", summary="Readings over time", media_type="application/json", opt={OWN_ENCODING: True})
async def series(
    request: Request[object, object, State],
    parts: Here,
    turnstile: NamedDependency[Turnstile],
    name: HostName,
    metric: Annotated[list[str], QueryParameter(description="Metrics, without the prefix flyball_; repeat for more.")],
    start: Time = "-15m",
    end: Time = "now",
    step: Annotated[
        Literal["1s", "1m"] | None, QueryParameter(description="Default: 1s up to an hour, then 1m.")
    ] = None,
    rate: Annotated[bool, QueryParameter(description="Counters as growth a second.")] = False,
) -> Response[SeriesAnswer]:
    """Every column of some metrics: each record (1s), or mean, minimum and maximum of each minute (1m)."""
    now_ns = parts.clock()
    start_ns, end_ns = _instant("start", start, now_ns), _instant("end", end, now_ns)
    chosen = step or ("1s" if end_ns - start_ns <= _AUTOMATIC_NS else "1m")
    names = tuple(dict.fromkeys(each.removeprefix("flyball_") for each in metric))
    question = _Question(name, names, start_ns, end_ns, chosen, rate)
    _check(question)
    recent = parts.recent.recent_rows(name, start_ns, end_ns) if chosen == "1s" else ()
    gzipped = accepts_gzip(request.headers.get("accept-encoding", ""))
    try:
        body, found = await turnstile.call(_answer, parts.store, question, recent, gzipped=gzipped)
    except TooManyValues as error:
        raise ApiError(400, "too_much", str(error), "ask for less time, fewer metrics, or step=1m") from None
    _check_found(parts, question, found)
    headers = {"Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if gzipped else {})
    return Response(body, headers=headers, media_type="application/json")  # type: ignore[arg-type]  # encoded off the event loop


def _instant(parameter: str, text: str, now_ns: int) -> int:
    try:
        return parse_time(text, now_ns)
    except ValueError as error:
        raise bad_value(parameter, str(error)) from None


def _check(question: _Question) -> None:
    """Refuse what cannot be answered before the store is asked."""
    if question.start_ns >= question.end_ns:
        raise bad_value("start", "not before end")
    if question.seconds > MAX_SECONDS[question.step]:
        what = f"{question.seconds:.0f} s at step={question.step}; at most {MAX_SECONDS[question.step]} s"
        raise bad_value("start", what, "ask for less time, or step=1m")
    if not 0 < len(question.metrics) <= MAX_METRICS:
        raise bad_value("metric", f"{len(question.metrics)} given, 1 to {MAX_METRICS} are answered")


def _check_found(parts: Parts, question: _Question, found: set[str]) -> None:
    """What neither the fleet nor the store knows is a fault; a host that left, or a metric of old, is not."""
    if not found:
        find_host(parts, question.host)
    known = declared(parts.fleet)
    for name in question.metrics:
        if known and name not in known and name not in found:
            raise unknown_metric(name, known)


def _answer(
    store: Store, question: _Question, recent: Sequence[tuple[Layout, RowGroup]], *, gzipped: bool
) -> tuple[bytes, set[str]]:
    """Read, reckon and encode, all in a thread; and the metrics that were found."""
    what = (question.host, question.metrics, question.start_ns, question.end_ns)
    table = read_seconds(store, *what, recent) if question.step == "1s" else read_minutes(store, *what)
    if question.rate:
        table = rates(table)
    answer = SeriesAnswer(
        host=question.host,
        step=question.step,
        start=moment(question.start_ns),
        end=moment(question.end_ns),
        times_unix=_rounded(table.times_ns / 1e9, 3),
        series=[_line(line) for line in table.lines],
    )
    body = msgspec.json.encode(answer)
    return gzip.compress(body, 1, mtime=0) if gzipped else body, {line.column.metric.name for line in table.lines}


def _line(line: Line) -> SeriesLine:
    metric = line.column.metric
    return SeriesLine(
        metric=metric.name,
        labels=dict(line.column.label_pairs()),
        unit=metric.unit,
        kind=metric.kind.name.lower(),
        values=_rounded(line.values, 6),
        minimum=msgspec.UNSET if line.minimum is None else _rounded(line.minimum, 6),
        maximum=msgspec.UNSET if line.maximum is None else _rounded(line.maximum, 6),
        counts=msgspec.UNSET if line.counts is None else line.counts.tolist(),
    )


def _rounded(values: Floats, digits: int) -> list[float]:
    rounded: list[float] = np.round(values, digits).tolist()  # msgspec writes NaN as null
    return rounded
