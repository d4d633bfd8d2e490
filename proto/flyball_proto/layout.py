"""Layouts: the columns (metric × resource) of records in order, and the digest by which records refer to them."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from google.protobuf.message import DecodeError

from flyball_proto.errors import WireError
from flyball_proto.metric import Kind, Metric
from flyball_proto.v1 import telemetry_pb2 as pb


@dataclass(frozen=True, slots=True)
class Column:
    """One metric of one resource."""

    metric: Metric
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.metric.labels):
            raise WireError(f"column of {self.metric.name}: {len(self.labels)} label values for {self.metric.labels}")

    def label_pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the label names with their values."""
        return tuple(zip(self.metric.labels, self.labels, strict=True))


@dataclass(frozen=True)
class Layout:
    """The columns of a record."""

    columns: tuple[Column, ...]

    @cached_property
    def body(self) -> bytes:
        """The encoded layout. Equal layouts have equal bytes."""
        return _to_message(self.columns).SerializeToString(deterministic=True)

    @cached_property
    def digest(self) -> int:
        return digest(self.body)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The positions of a metric's columns, by its name."""
        places: dict[str, list[int]] = {}
        for place, column in enumerate(self.columns):
            places.setdefault(column.metric.name, []).append(place)
        return places

    @classmethod
    def parse(cls, body: bytes, metric_of: "Callable[[pb.Metric], Metric] | None" = None) -> "Layout":
        """Decode a received layout. `metric_of` may return existing objects for metrics that are known already."""
        try:
            message = pb.Layout.FromString(body)
        except DecodeError as error:
            raise WireError(f"layout of {len(body)} bytes does not parse: {error}") from None
        return cls(tuple(_from_message(message, metric_of or metric_from_message)))


def digest(body: bytes) -> int:
    """Return the digest of a definition: the first eight bytes of its SHA-256."""
    return int.from_bytes(hashlib.sha256(body).digest()[:8], "little")


def _to_message(columns: Iterable[Column]) -> pb.Layout:
    message = pb.Layout()
    indexes: dict[Metric, int] = {}
    for column in columns:
        index = indexes.get(column.metric)
        if index is None:
            index = indexes[column.metric] = len(message.metrics)
            message.metrics.append(_metric_to_message(column.metric))
        message.columns.add(metric=index, labels=column.labels)
    return message


def _metric_to_message(metric: Metric) -> pb.Metric:
    return pb.Metric(
        name=metric.name,
        kind=pb.Metric.Kind.ValueType(metric.kind),
        unit=metric.unit,
        help=metric.help,
        labels=metric.labels,
        scale=metric.scale,
        states=metric.states,
    )


def _from_message(message: pb.Layout, metric_of: Callable[[pb.Metric], Metric]) -> Iterable[Column]:
    metrics = [metric_of(metric) for metric in message.metrics]
    for column in message.columns:
        number = column.metric
        if number >= len(metrics):
            raise WireError(f"layout: column of metric {number}, but only {len(metrics)} are declared")
        yield Column(metrics[number], tuple(column.labels))


def metric_from_message(message: pb.Metric) -> Metric:
    """Convert a received metric. An unknown kind becomes a gauge."""
    kind = Kind(int(message.kind)) if int(message.kind) in Kind._value2member_map_ else Kind.GAUGE
    return Metric(
        message.name, kind, message.unit, message.help, tuple(message.labels), message.scale, tuple(message.states)
    )
