"""Definitions that records refer to by digest: verified, parsed within limits, and stored once each."""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from google.protobuf.message import DecodeError

from flyball_collector.ingest.rejection import Malformed
from flyball_collector.settings import LimitSettings
from flyball_collector.tick import KnownLayout
from flyball_proto.errors import WireError
from flyball_proto.layout import Layout, digest, metric_from_message
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import UnavailableReading, parse_unavailable
from flyball_proto.v1 import telemetry_pb2 as pb

Meaning = KnownLayout | tuple[UnavailableReading, ...] | pb.Tenancy
PutDocument = Callable[[str, str, bytes], None]

_CACHED = 8192
_HELP_BYTES = 2048
_UNIT_BYTES = 64
_STATES = 256
_UNAVAILABLE = 4096
_MEMBERS = 4096

DOCUMENT_KINDS = {
    pb.Definition.LAYOUT: "layout",
    pb.Definition.UNAVAILABLE: "unavailable",
    pb.Definition.TENANCY: "tenancy",
}


class Definitions:
    """Shared by all streams, so that equal definitions of many hosts are in memory only once."""

    def __init__(self, limits: LimitSettings, put_document: PutDocument) -> None:
        self._limits = limits
        self._put_document = put_document
        self._meanings: OrderedDict[int, Meaning] = OrderedDict()
        self._metrics: dict[bytes, Metric] = {}  # by their serialized declaration

    def learn(self, definition: pb.Definition) -> Meaning | None:
        """Check a definition and store it. Return `None` for a kind of a newer version."""
        kind = DOCUMENT_KINDS.get(definition.kind)
        if kind is None:
            return None
        if (known := self._meanings.get(definition.digest)) is not None:
            self._meanings.move_to_end(definition.digest)
            return known
        body = definition.body
        if digest(body) != definition.digest:
            raise Malformed("definition", f"{kind} {definition.digest:016x} has a body with digest {digest(body):016x}")
        meaning = self._parse(definition)
        self._put_document(kind, f"{definition.digest:016x}", body)
        self._know(definition.digest, meaning)
        return meaning

    def layout(self, digest: int) -> KnownLayout | None:
        """Return a layout if it is already known. Any thread may call this."""
        known = self._meanings.get(digest)
        return known if isinstance(known, KnownLayout) else None

    def recall(self, layout: KnownLayout) -> None:
        """Remember a layout that was read from the store."""
        self._know(layout.digest, layout)

    def read_layout(self, body: bytes, digest: int) -> KnownLayout:
        """Parse a layout within limits. Raises `Malformed`. Any thread may call this."""
        try:
            return self._layout(body, digest)
        except WireError as error:
            raise Malformed("definition", str(error)) from None

    def _know(self, name: int, meaning: Meaning) -> None:
        self._meanings[name] = meaning
        while len(self._meanings) > _CACHED:
            self._meanings.popitem(last=False)

    def _parse(self, definition: pb.Definition) -> Meaning:
        try:
            if definition.kind == pb.Definition.LAYOUT:
                return self._layout(definition.body, definition.digest)
            if definition.kind == pb.Definition.UNAVAILABLE:
                return self._unavailable(definition.body)
            return self._tenancy(definition.body)
        except (WireError, DecodeError) as error:
            raise Malformed("definition", str(error)) from None

    def _layout(self, body: bytes, name: int) -> KnownLayout:
        _check_counts(body, self._limits.columns)
        layout = Layout.parse(body, self._metric)
        columns = layout.columns
        if len({(column.metric.name, column.labels) for column in columns}) != len(columns):
            raise Malformed("definition", "layout with a duplicate column")
        longest = self._limits.label_bytes
        for column in columns:
            for value in column.labels:
                if len(value) > longest:
                    raise _too_long(f"label of {column.metric.name}", value, longest)
        # The digest of the wire stays, even if a newer agent's body has fields that this version would not write.
        layout.__dict__["digest"] = name
        return KnownLayout(layout)

    def _metric(self, message: pb.Metric) -> Metric:
        """Parse a metric once, because many hosts declare the same ones."""
        body = message.SerializeToString()
        known = self._metrics.get(body)
        if known is None:
            metric = metric_from_message(message)
            _check(f"help of {metric.name}", metric.help, _HELP_BYTES)
            _check(f"unit of {metric.name}", metric.unit, _UNIT_BYTES)
            if len(metric.states) > _STATES:
                raise Malformed("definition", f"{metric.name} has {len(metric.states)} states; the limit is {_STATES}")
            if len(self._metrics) >= _CACHED:
                self._metrics.clear()
            known = self._metrics[body] = metric
        return known

    def _unavailable(self, body: bytes) -> tuple[UnavailableReading, ...]:
        count = len(pb.UnavailableReadings.FromString(body).unavailable)
        if count > _UNAVAILABLE:  # before objects are made of them, which takes seconds for a million
            raise Malformed("definition", f"{count} unavailable readings; the limit is {_UNAVAILABLE}")
        unavailable = parse_unavailable(body)
        for unavailable_reading in unavailable:
            for text in (unavailable_reading.probe, unavailable_reading.metric, unavailable_reading.resource):
                _check("name in an unavailable reading", text, self._limits.label_bytes)
            for text in (unavailable_reading.detail, unavailable_reading.remedy):
                _check("text of an unavailable reading", text, _HELP_BYTES)
        return unavailable

    def _tenancy(self, body: bytes) -> pb.Tenancy:
        tenancy = pb.Tenancy.FromString(body)
        if len(tenancy.members) > _MEMBERS:
            raise Malformed("definition", f"tenancy of {len(tenancy.members)} members; the limit is {_MEMBERS}")
        return tenancy


def _check_counts(body: bytes, limit: int) -> None:
    """Check the size of a layout before objects are made of its parts, which takes seconds for a million."""
    with suppress(DecodeError):  # `Layout.parse` reports it
        message = pb.Layout.FromString(body)
        for what, count in (("columns", len(message.columns)), ("metrics", len(message.metrics))):
            if count > limit:
                raise Malformed("definition", f"layout of {count} {what}; the limit is {limit}")


def _check(what: str, value: str, limit: int) -> None:
    if len(value) > limit:
        raise _too_long(what, value, limit)


def _too_long(what: str, value: str, limit: int) -> Malformed:
    return Malformed("definition", f"{what} of {len(value)} characters; the limit is {limit}")
