"""The answers about one host, made from its live state."""

from collections.abc import Iterable, Sequence

import msgspec

from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.step_totals import StepTotals
from flyball_collector.http.plain_values import Plain, plain
from flyball_collector.http.status import Status
from flyball_collector.times import Moment, moment
from flyball_proto.layout import Column
from flyball_proto.metric import Kind
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

_LATEST_NS = 1 << 62  # the year 2116


class HostSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of one host. Null is unknown."""

    name: str
    status: str  # up, not_reporting, ended or waiting
    connected: bool
    last_report: Moment | None
    age_seconds: float | None
    agent_version: str
    interval_seconds: float
    clock_skew_seconds: float | None
    backlog_bytes: int
    columns: int
    gpus: int | None
    unavailable: int
    duplicate: bool


class UnavailableReadingAnswer(msgspec.Struct, frozen=True):
    """An unavailable reading. An empty metric or resource means all of them."""

    probe: str
    metric: str
    resource: str
    reason: str
    detail: str
    remedy: str


class ProcessAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A process that holds a GPU or belongs to a run."""

    pid: int
    user: str
    command: str
    run: str
    rank: int
    world_size: int
    source: str
    gpus: list[str]
    labels: dict[str, str]
    gpu_memory_bytes: int | None


class RunAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of a rank since its first step report."""

    run: str
    rank: int
    step: int
    steps: int
    mean_step_seconds: float | None
    data_wait_ratio: float | None
    tokens: float | None
    samples: float | None
    loss: float | None


class EventAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the host, by its own clock. An empty resource means the whole host."""

    time: Moment | None
    kind: str
    resource: str
    code: int
    text: str


class HostAnswer(msgspec.Struct, frozen=True):
    """Everything about a host except its readings."""

    host: HostSummary
    inventory: Plain | None
    unavailable: list[UnavailableReadingAnswer]
    processes: list[ProcessAnswer]
    runs: list[RunAnswer]
    events: list[EventAnswer]  # up to 64, newest first


class ReadingAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One column. A null `value` is unknown, and `why` has the reason if it is known."""

    metric: str
    labels: dict[str, str]
    value: float | None
    unit: str
    kind: str
    state: str | None = None
    why: UnavailableReadingAnswer | None = None


class LatestAnswer(msgspec.Struct, frozen=True):
    """The newest record of a host."""

    host: str
    status: str
    time: Moment | None
    epoch: str  # identifies the record: one life of the agent, and the number of its tick
    sequence: int | None
    readings: list[ReadingAnswer]


def summary_of(host: HostState, status: Status, now_ns: int) -> HostSummary:
    """Return the summary. Ages count from receipt, by the collector's clock."""
    return HostSummary(
        name=host.name,
        status=status.word,
        connected=host.connected,
        last_report=moment(host.corrected_ns or host.received_ns) if host.received_ns else None,
        age_seconds=round(max(0, now_ns - host.received_ns) / 1e9, 3) if host.received_ns else None,
        agent_version=host.agent_version,
        interval_seconds=host.interval_ms / 1000,
        clock_skew_seconds=None if host.clock_skew_seconds is None else round(host.clock_skew_seconds, 6),
        backlog_bytes=host.backlog_bytes,
        columns=host.layout.count if host.layout else 0,
        gpus=len(host.inventory.gpus) if host.inventory else None,
        unavailable=len(host.unavailable),
        duplicate=host.duplicate,
    )


def host_answer(host: HostState, steps: Iterable[StepTotals], status: Status, now_ns: int) -> HostAnswer:
    """Return state, inventory, unavailable readings and users of the host."""
    return HostAnswer(
        summary_of(host, status, now_ns),
        plain(host.inventory) if host.inventory else None,
        [unavailable_answer(reading) for reading in host.unavailable],
        _processes(host.tenancy, host.extras),
        [_run(totals) for totals in steps],
        [_event(event) for event in reversed(host.events)],
    )


def latest_answer(host: HostState, readings: Iterable[tuple[Column, float | None]], status: Status) -> LatestAnswer:
    """Return every reading, with the reason of unknown ones."""
    return LatestAnswer(
        host.name,
        status.word,
        moment(host.corrected_ns) if host.corrected_ns else None,
        host.epoch.hex(),
        host.sequence if host.sequence >= 0 else None,
        [_reading(column, value, host.unavailable) for column, value in readings],
    )


def unavailable_answer(reading: UnavailableReading) -> UnavailableReadingAnswer:
    """Return the answer for an unavailable reading."""
    reason = reading.reason.word
    return UnavailableReadingAnswer(
        reading.probe,
        reading.metric,
        reading.resource,
        reason,
        reading.detail,
        reading.remedy,
    )


def _reading(column: Column, value: float | None, unavailable: Sequence[UnavailableReading]) -> ReadingAnswer:
    metric = column.metric
    state = None
    if metric.kind is Kind.STATE and value is not None and 0 <= int(value) < len(metric.states):
        state = metric.states[int(value)]
    why = next((each for each in unavailable if _explains(each, column)), None) if value is None else None
    return ReadingAnswer(
        metric=metric.name,
        labels=dict(column.label_pairs()),
        value=value,
        unit=metric.unit,
        kind=metric.kind.name.lower(),
        state=state,
        why=unavailable_answer(why) if why else None,
    )


def _explains(reading: UnavailableReading, column: Column) -> bool:
    """Return True if an unavailable reading covers a column. A column's name begins with the probe's first word."""
    name = column.metric.name
    of_metric = reading.metric == name if reading.metric else name.split("_")[0] == reading.probe.split("_")[0]
    return of_metric and (not reading.resource or reading.resource in column.labels)


def _processes(tenancy: pb.Tenancy | None, extras: pb.Record | None) -> list[ProcessAnswer]:
    held: dict[int, int] = {}
    for process in extras.gpu_processes if extras else ():
        if process.HasField("memory_used_bytes"):
            held[process.pid] = held.get(process.pid, 0) + process.memory_used_bytes
    return [
        ProcessAnswer(
            pid=member.pid,
            user=member.user,
            command=member.command,
            run=member.run,
            rank=member.rank,
            world_size=member.world_size,
            source=member.source,
            gpus=list(member.gpus),
            labels=dict(member.labels),
            gpu_memory_bytes=held.get(member.pid),
        )
        for member in (tenancy.members if tenancy else ())
    ]


def _event(event: HostEvent) -> EventAnswer:
    valid = 0 < event.time_ns < _LATEST_NS  # from the host
    return EventAnswer(
        time=moment(event.time_ns) if valid else None,
        kind=event.kind,
        resource=event.resource,
        code=event.code,
        text=event.text,
    )


def _run(totals: StepTotals) -> RunAnswer:
    duration, waited = totals.step_seconds, totals.data_wait_seconds
    return RunAnswer(
        run=totals.run,
        rank=totals.rank,
        step=totals.step,
        steps=totals.steps,
        mean_step_seconds=duration / totals.steps if totals.steps else None,
        data_wait_ratio=waited / duration if waited is not None and duration > 0 else None,
        tokens=totals.tokens,
        samples=totals.samples,
        loss=totals.loss,
    )
