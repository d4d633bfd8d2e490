"""Readings over time, by second or by minute."""

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
from flyball_collector.http.call_limiter import CallLimiter
from flyball_collector.http.collector_parts import CollectorParts, PartsDependency
from flyball_collector.http.encoding import OWN_ENCODING
from flyball_collector.http.errors import ApiError, bad_value, unknown_metric
from flyball_collector.http.host_routes import HostName, find_host
from flyball_collector.http.metric_declarations import declared_metrics
from flyball_collector.http.series_query import (
    Floats,
    SeriesColumn,
    TooManyValues,
    rates,
    read_minutes,
    read_seconds,
)
from flyball_collector.store.contract import Store
from flyball_collector.times import Moment, moment, parse_time
from flyball_proto.layout import Layout

MAX_METRICS = 32
MAX_SECONDS = {"1s": 86_400, "1m": 32 * 86_400}
_AUTOMATIC_NS = 3600 * 10**9

Time = Annotated[str, QueryParameter(description="RFC 3339, unix seconds, now, or relative such as -15m.")]


class SeriesLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One column. Null is unknown. By minute, `values` are means and `counts` the number of records."""

    metric: str
    labels: dict[str, str]
    unit: str
    kind: str
    values: list[float]
    minimum: list[float] | msgspec.UnsetType = msgspec.UNSET
    maximum: list[float] | msgspec.UnsetType = msgspec.UNSET
    counts: list[int] | msgspec.UnsetType = msgspec.UNSET


class SeriesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Columns on one time axis."""

    host: str
    step: str
    start: Moment
    end: Moment
    times_unix: list[float]
    series: list[SeriesLine]


@dataclass(frozen=True, slots=True)
class _SeriesRequest:
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
    parts: PartsDependency,
    limiter: NamedDependency[CallLimiter],
    name: HostName,
    metric: Annotated[list[str], QueryParameter(description="Metric without the prefix flyball_. May be repeated.")],
    start: Time = "-15m",
    end: Time = "now",
    step: Annotated[
        Literal["1s", "1m"] | None, QueryParameter(description="Default: 1s up to an hour, 1m beyond.")
    ] = None,
    rate: Annotated[bool, QueryParameter(description="Return counters as increase a second.")] = False,
) -> Response[SeriesAnswer]:
    """Return every column of some metrics: each record (1s), or mean, minimum and maximum of each minute (1m)."""
    now_ns = parts.clock()
    start_ns, end_ns = _instant("start", start, now_ns), _instant("end", end, now_ns)
    chosen = step or ("1s" if end_ns - start_ns <= _AUTOMATIC_NS else "1m")
    names = tuple(dict.fromkeys(each.removeprefix("flyball_") for each in metric))
    query = _SeriesRequest(name, names, start_ns, end_ns, chosen, rate)
    _check(query)
    recent = parts.recent.recent_rows(name, start_ns, end_ns) if chosen == "1s" else ()
    gzipped = accepts_gzip(request.headers.get("accept-encoding", ""))
    try:
        body, found = await limiter.call(_encoded_answer, parts.store, query, recent, gzipped=gzipped)
    except TooManyValues as error:
        raise ApiError(400, "too_much", str(error), "use a shorter time range, fewer metrics, or step=1m") from None
    _check_found(parts, query, found)
    headers = {"Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if gzipped else {})
    return Response(body, headers=headers, media_type="application/json")  # type: ignore[arg-type]  # already encoded


def _instant(parameter: str, text: str, now_ns: int) -> int:
    try:
        return parse_time(text, now_ns)
    except ValueError as error:
        raise bad_value(parameter, str(error)) from None


def _check(query: _SeriesRequest) -> None:
    """Refuse invalid requests before the store is read."""
    if query.start_ns >= query.end_ns:
        raise bad_value("start", "start must be before end")
    if query.seconds > MAX_SECONDS[query.step]:
        what = f"{query.seconds:.0f} s at step={query.step}; the limit is {MAX_SECONDS[query.step]} s"
        raise bad_value("start", what, "use a shorter time range, or step=1m")
    if not 0 < len(query.metrics) <= MAX_METRICS:
        raise bad_value("metric", f"{len(query.metrics)} metrics; expected 1 to {MAX_METRICS}")


def _check_found(parts: CollectorParts, query: _SeriesRequest, found: set[str]) -> None:
    """Raise an error for hosts and metrics that neither the fleet nor the store knows."""
    if not found:
        find_host(parts, query.host)
    known = declared_metrics(parts.fleet)
    for name in query.metrics:
        if known and name not in known and name not in found:
            raise unknown_metric(name, known)


def _encoded_answer(
    store: Store, query: _SeriesRequest, recent: Sequence[tuple[Layout, RowGroup]], *, gzipped: bool
) -> tuple[bytes, set[str]]:
    """Read, compute and encode the answer, in a thread. Return the body and the metrics that were found."""
    what = (query.host, query.metrics, query.start_ns, query.end_ns)
    table = read_seconds(store, *what, recent) if query.step == "1s" else read_minutes(store, *what)
    if query.rate:
        table = rates(table)
    answer = SeriesAnswer(
        host=query.host,
        step=query.step,
        start=moment(query.start_ns),
        end=moment(query.end_ns),
        times_unix=_rounded(table.times_ns / 1e9, 3),
        series=[_line(line) for line in table.lines],
    )
    body = msgspec.json.encode(answer)
    return gzip.compress(body, 1, mtime=0) if gzipped else body, {line.column.metric.name for line in table.lines}


def _line(line: SeriesColumn) -> SeriesLine:
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
