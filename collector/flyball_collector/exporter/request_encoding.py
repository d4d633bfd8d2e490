"""Encodes page requests for another process. Data of a host that rarely change are sent once."""

import pickle
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot, ExportedCondition
from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_collector.exporter.page_renderer import PageRequest
from flyball_collector.fleet.snapshot import HostView, Snapshot
from flyball_collector.fleet.step_totals import StepTotals
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb


class EncodedLayout(NamedTuple):
    """A layout: the index of each column's metric in the request, and its labels."""

    digest: int
    metrics: list[int]
    labels: list[tuple[str, ...]]


class StaticHostData(NamedTuple):
    """Data of a host that rarely change. Protobuf messages are serialized."""

    agent_version: str
    layout: EncodedLayout | None
    unavailable: tuple[UnavailableReading, ...]
    tenancy: bytes | None
    inventory: bytes | None


class LiveHostData(NamedTuple):
    """Data of a host that change with each request."""

    name: str
    connected: bool
    duplicate: bool
    start: int
    received_ns: int
    clock_skew_seconds: float | None
    backlog_bytes: int
    extras: bytes | None
    steps: tuple[StepTotals, ...]


class EncodedRequest(NamedTuple):
    """An encoded request. `static` has only the hosts whose static data have changed, each encoded separately."""

    own: bytes
    generation: int
    metrics: list[Metric]
    static: dict[str, bytes]  # pickled
    live: list[LiveHostData]
    arena: NDArray[np.float64]
    diagnosis: DiagnosisSnapshot
    active: list[Sequence[ExportedCondition] | int]  # a group of conditions, or its index in the previous request
    format_: ExpositionFormat
    gzip: bool
    now_ns: int


class RequestEncoder:
    """Encodes requests for one receiver, which must decode all of them in order."""

    def __init__(self) -> None:
        self._sent: dict[str, tuple[object, ...]] = {}
        self._groups: Sequence[Sequence[ExportedCondition]] = ()

    def encode(self, request: PageRequest) -> EncodedRequest:
        """Encode a request."""
        snapshot = request.snapshot
        sent = {host.name: _static_parts(host) for host in snapshot.hosts}
        metric_index = _MetricIndex()
        changed = [host for host in snapshot.hosts if self._has_changed(host.name, sent[host.name])]
        static = {host.name: _pickled(_static(host, metric_index)) for host in changed}
        self._sent = sent
        live = [_live(host) for host in snapshot.hosts]
        return EncodedRequest(
            request.own, snapshot.generation, metric_index.metrics, static, live, snapshot.arena,
            request.diagnosis._replace(active=()), self._active(request.diagnosis.active), request.format_,
            request.gzip, request.now_ns,
        )  # fmt: skip

    def _active(self, groups: Sequence[Sequence[ExportedCondition]]) -> list[Sequence[ExportedCondition] | int]:
        before = {id(group): index for index, group in enumerate(self._groups)}
        self._groups = groups
        return [before.get(id(group), group) for group in groups]

    def _has_changed(self, name: str, parts: tuple[object, ...]) -> bool:
        """Return True if a host's data have changed. Messages are replaced, never modified: identity is enough."""
        before = self._sent.get(name)
        return before is None or any(new is not old for new, old in zip(parts, before, strict=True))


class RequestDecoder:
    """Decodes requests. Unchanged data are the same objects again, by which the writers recognise them."""

    def __init__(self) -> None:
        self._static: dict[str, _Known] = {}
        self._groups: list[Sequence[ExportedCondition]] = []
        self._metrics: dict[Metric, Metric] = {}  # equal ones become one object, for the writers

    def decode(self, encoded: EncodedRequest) -> PageRequest:
        """Decode a request."""
        metrics = [self._metrics.setdefault(metric, metric) for metric in encoded.metrics]
        known = self._static | {name: _known(_unpickled(body), metrics) for name, body in encoded.static.items()}
        self._static = {live.name: known[live.name] for live in encoded.live}
        hosts = tuple(_view(live, known[live.name]) for live in encoded.live)
        snapshot = Snapshot(encoded.generation, hosts, encoded.arena)
        self._groups = [self._groups[group] if isinstance(group, int) else group for group in encoded.active]
        diagnosis = encoded.diagnosis._replace(active=self._groups)
        return PageRequest(encoded.own, snapshot, diagnosis, encoded.format_, encoded.gzip, encoded.now_ns)


class _Known(NamedTuple):
    agent_version: str
    layout: KnownLayout | None
    unavailable: tuple[UnavailableReading, ...]
    tenancy: pb.Tenancy | None
    inventory: pb.Inventory | None


def _static_parts(host: HostView) -> tuple[object, ...]:
    return host.agent_version, host.layout, host.unavailable, host.tenancy, host.inventory


class _MetricIndex:
    """Assigns indices to the metrics of a request."""

    def __init__(self) -> None:
        self.metrics: list[Metric] = []
        self._indices: dict[int, int] = {}  # by identity: hashing a metric costs more than sending it twice

    def of(self, metric: Metric) -> int:
        index = self._indices.get(id(metric))
        if index is None:
            index = self._indices[id(metric)] = len(self.metrics)
            self.metrics.append(metric)
        return index


def _static(host: HostView, metric_index: _MetricIndex) -> StaticHostData:
    return StaticHostData(
        host.agent_version,
        None if host.layout is None else _columns(host.layout, metric_index),
        host.unavailable,
        None if host.tenancy is None else host.tenancy.SerializeToString(),
        None if host.inventory is None else host.inventory.SerializeToString(),
    )


def _pickled(static: StaticHostData) -> bytes:
    """Pickle each host separately. Pickling thousands of layouts at once would make the event loop wait for the
    interpreter for a millisecond or two after each socket that it reads meanwhile."""
    body = pickle.dumps(static, protocol=pickle.HIGHEST_PROTOCOL)
    time.sleep(0)  # lets a waiting thread run now
    return body


def _unpickled(body: bytes) -> StaticHostData:
    static: StaticHostData = pickle.loads(body)  # noqa: S301  encoded by the process that started this one
    return static


def _live(host: HostView) -> LiveHostData:
    extras = None if host.extras is None else host.extras.SerializeToString()
    return LiveHostData(
        host.name, host.connected, host.duplicate, host.start, host.received_ns, host.clock_skew_seconds,
        host.backlog_bytes, extras, host.steps,
    )  # fmt: skip


def _columns(layout: KnownLayout, metric_index: _MetricIndex) -> EncodedLayout:
    columns = layout.layout.columns
    return EncodedLayout(
        layout.digest, [metric_index.of(column.metric) for column in columns], [c.labels for c in columns]
    )


def _layout(columns: EncodedLayout, metrics: Sequence[Metric]) -> KnownLayout:
    pairs = zip(columns.metrics, columns.labels, strict=True)
    layout = Layout(tuple(Column(metrics[index], labels) for index, labels in pairs))
    layout.__dict__["digest"] = columns.digest  # computing it again would cost more than everything else
    return KnownLayout(layout)


def _known(static: StaticHostData, metrics: Sequence[Metric]) -> _Known:
    return _Known(
        static.agent_version,
        None if static.layout is None else _layout(static.layout, metrics),
        static.unavailable,
        None if static.tenancy is None else pb.Tenancy.FromString(static.tenancy),
        None if static.inventory is None else pb.Inventory.FromString(static.inventory),
    )


def _view(live: LiveHostData, known: _Known) -> HostView:
    return HostView(
        name=live.name,
        agent_version=known.agent_version,
        connected=live.connected,
        duplicate=live.duplicate,
        layout=known.layout,
        start=live.start,
        received_ns=live.received_ns,
        clock_skew_seconds=live.clock_skew_seconds,
        backlog_bytes=live.backlog_bytes,
        unavailable=known.unavailable,
        tenancy=known.tenancy,
        inventory=known.inventory,
        extras=None if live.extras is None else pb.Record.FromString(live.extras),
        steps=live.steps,
    )
