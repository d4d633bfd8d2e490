"""How the order of a page travels to another process: what seldom changes of a host is sent once."""

import pickle
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot, ExportedCondition
from flyball_collector.exporter.negotiation import Format
from flyball_collector.exporter.pages import PageOrder
from flyball_collector.fleet.snapshot import HostView, Snapshot
from flyball_collector.fleet.steps import StepTotals
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb


class Columns(NamedTuple):
    """A layout: each column's metric, by its number in the parcel, and its labels."""

    digest: int
    metrics: list[int]
    labels: list[tuple[str, ...]]


class Lasting(NamedTuple):
    """What seldom changes of a host; messages as their bytes."""

    agent_version: str
    layout: Columns | None
    unavailable: tuple[UnavailableReading, ...]
    tenancy: bytes | None
    inventory: bytes | None


class Moving(NamedTuple):
    """What is new each time."""

    name: str
    connected: bool
    duplicate: bool
    start: int
    received_ns: int
    clock_skew_seconds: float | None
    backlog_bytes: int
    extras: bytes | None
    steps: tuple[StepTotals, ...]


class Parcel(NamedTuple):
    """An order; `lasting` holds only the hosts of which something else is to be said than before, each by itself."""

    own: bytes
    generation: int
    metrics: list[Metric]
    lasting: dict[str, bytes]  # pickled
    moving: list[Moving]
    arena: NDArray[np.float64]
    diagnosis: DiagnosisSnapshot
    active: list[
        Sequence[ExportedCondition] | int
    ]  # of the diagnosis: a group, or the number that it had in the parcel before
    format_: Format
    gzip: bool
    now_ns: int


class Packer:
    """Packs orders for one receiver, who gets every parcel in turn."""

    def __init__(self) -> None:
        self._sent: dict[str, tuple[object, ...]] = {}
        self._groups: Sequence[Sequence[ExportedCondition]] = ()

    def pack(self, order: PageOrder) -> Parcel:
        """The parcel of an order."""
        snapshot = order.snapshot
        sent = {host.name: _lasting_parts(host) for host in snapshot.hosts}
        numbers = _Numbers()
        changed = [host for host in snapshot.hosts if self._is_news(host.name, sent[host.name])]
        news = {host.name: _alone(_lasting(host, numbers)) for host in changed}
        self._sent = sent
        moving = [_moving(host) for host in snapshot.hosts]
        return Parcel(
            order.own, snapshot.generation, numbers.metrics, news, moving, snapshot.arena,
            order.diagnosis._replace(active=()), self._active(order.diagnosis.active), order.format_, order.gzip,
            order.now_ns,
        )  # fmt: skip

    def _active(self, groups: Sequence[Sequence[ExportedCondition]]) -> list[Sequence[ExportedCondition] | int]:
        before = {id(group): number for number, group in enumerate(self._groups)}
        self._groups = groups
        return [before.get(id(group), group) for group in groups]

    def _is_news(self, name: str, parts: tuple[object, ...]) -> bool:
        """Messages are replaced, never changed: it is enough to look whether they are the same objects."""
        before = self._sent.get(name)
        return before is None or any(new is not old for new, old in zip(parts, before, strict=True))


class Unpacker:
    """The other end; what has not changed is the same object again, which is how the writers know."""

    def __init__(self) -> None:
        self._lasting: dict[str, _Known] = {}
        self._groups: list[Sequence[ExportedCondition]] = []
        self._metrics: dict[Metric, Metric] = {}  # equal ones are one object, by which the writers tell them apart

    def unpack(self, parcel: Parcel) -> PageOrder:
        """The order of a parcel."""
        metrics = [self._metrics.setdefault(metric, metric) for metric in parcel.metrics]
        known = self._lasting | {name: _known(_unpickled(body), metrics) for name, body in parcel.lasting.items()}
        self._lasting = {moving.name: known[moving.name] for moving in parcel.moving}
        hosts = tuple(_view(moving, known[moving.name]) for moving in parcel.moving)
        snapshot = Snapshot(parcel.generation, hosts, parcel.arena)
        self._groups = [self._groups[group] if isinstance(group, int) else group for group in parcel.active]
        diagnosis = parcel.diagnosis._replace(active=self._groups)
        return PageOrder(parcel.own, snapshot, diagnosis, parcel.format_, parcel.gzip, parcel.now_ns)


class _Known(NamedTuple):
    agent_version: str
    layout: KnownLayout | None
    unavailable: tuple[UnavailableReading, ...]
    tenancy: pb.Tenancy | None
    inventory: pb.Inventory | None


def _lasting_parts(host: HostView) -> tuple[object, ...]:
    return host.agent_version, host.layout, host.unavailable, host.tenancy, host.inventory


class _Numbers:
    """Numbers the metrics of a parcel."""

    def __init__(self) -> None:
        self.metrics: list[Metric] = []
        self._numbers: dict[int, int] = {}  # by identity: to hash a metric costs more than to send it twice

    def of(self, metric: Metric) -> int:
        number = self._numbers.get(id(metric))
        if number is None:
            number = self._numbers[id(metric)] = len(self.metrics)
            self.metrics.append(metric)
        return number


def _lasting(host: HostView, numbers: _Numbers) -> Lasting:
    return Lasting(
        host.agent_version,
        None if host.layout is None else _columns(host.layout, numbers),
        host.unavailable,
        None if host.tenancy is None else host.tenancy.SerializeToString(),
        None if host.inventory is None else host.inventory.SerializeToString(),
    )


def _alone(lasting: Lasting) -> bytes:
    """Pickled host by host: in one piece, of thousands of layouts, the event loop would wait a millisecond or two for
    the interpreter after each socket that it reads meanwhile."""
    body = pickle.dumps(lasting, protocol=pickle.HIGHEST_PROTOCOL)
    time.sleep(0)  # whoever waits has it now
    return body


def _unpickled(body: bytes) -> Lasting:
    lasting: Lasting = pickle.loads(body)  # noqa: S301  packed by the process that started this one
    return lasting


def _moving(host: HostView) -> Moving:
    extras = None if host.extras is None else host.extras.SerializeToString()
    return Moving(
        host.name, host.connected, host.duplicate, host.start, host.received_ns, host.clock_skew_seconds,
        host.backlog_bytes, extras, host.steps,
    )  # fmt: skip


def _columns(layout: KnownLayout, numbers: _Numbers) -> Columns:
    columns = layout.layout.columns
    return Columns(layout.digest, [numbers.of(column.metric) for column in columns], [c.labels for c in columns])


def _layout(columns: Columns, metrics: Sequence[Metric]) -> KnownLayout:
    pairs = zip(columns.metrics, columns.labels, strict=True)
    layout = Layout(tuple(Column(metrics[number], labels) for number, labels in pairs))
    layout.__dict__["digest"] = columns.digest  # to find it again would cost more than all the rest
    return KnownLayout(layout)


def _known(lasting: Lasting, metrics: Sequence[Metric]) -> _Known:
    return _Known(
        lasting.agent_version,
        None if lasting.layout is None else _layout(lasting.layout, metrics),
        lasting.unavailable,
        None if lasting.tenancy is None else pb.Tenancy.FromString(lasting.tenancy),
        None if lasting.inventory is None else pb.Inventory.FromString(lasting.inventory),
    )


def _view(moving: Moving, known: _Known) -> HostView:
    return HostView(
        name=moving.name,
        agent_version=known.agent_version,
        connected=moving.connected,
        duplicate=moving.duplicate,
        layout=known.layout,
        start=moving.start,
        received_ns=moving.received_ns,
        clock_skew_seconds=moving.clock_skew_seconds,
        backlog_bytes=moving.backlog_bytes,
        unavailable=known.unavailable,
        tenancy=known.tenancy,
        inventory=known.inventory,
        extras=None if moving.extras is None else pb.Record.FromString(moving.extras),
        steps=moving.steps,
    )
