"""Definitions: what digests in records stand for; verified, parsed within limits, kept for the store once each."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from google.protobuf.message import DecodeError

from flyball_collector.ingest.rejection import Malformed
from flyball_collector.settings import LimitSettings
from flyball_collector.tick import KnownLayout
from flyball_proto.errors import WireError
from flyball_proto.layout import Column, Layout, digest
from flyball_proto.metric import Metric
from flyball_proto.silence import Silence, parse_silences
from flyball_proto.v1 import telemetry_pb2 as pb

Meaning = KnownLayout | tuple[Silence, ...] | pb.Tenancy
PutDocument = Callable[[str, str, bytes], None]

_CACHED = 8192
_HELP_BYTES = 2048
_UNIT_BYTES = 64
_STATES = 256
_SILENCES = 4096
_MEMBERS = 4096

DOCUMENT_KINDS = {
    pb.Definition.LAYOUT: "layout",
    pb.Definition.SILENCES: "silences",
    pb.Definition.TENANCY: "tenancy",
}


@dataclass(frozen=True, slots=True)
class _Text:
    """A text with its limit, for one message in one place."""

    what: str
    value: str
    limit: int

    def check(self) -> None:
        if len(self.value) > self.limit:
            raise Malformed("definition", f"{self.what} of {len(self.value)} characters; at most {self.limit}")


class Definitions:
    """Shared by all streams, so that equal definitions of many hosts lie in memory once."""

    def __init__(self, limits: LimitSettings, put_document: PutDocument) -> None:
        self._limits = limits
        self._put_document = put_document
        self._meanings: OrderedDict[int, Meaning] = OrderedDict()
        self._metrics: dict[Metric, Metric] = {}

    def learn(self, definition: pb.Definition) -> Meaning | None:
        """Check a definition and hand it to the store; `None` for a kind of a newer version."""
        kind = DOCUMENT_KINDS.get(definition.kind)
        if kind is None:
            return None
        if (known := self._meanings.get(definition.digest)) is not None:
            self._meanings.move_to_end(definition.digest)
            return known
        body = definition.body
        if digest(body) != definition.digest:
            raise Malformed("definition", f"{kind} {definition.digest:016x} has a body of digest {digest(body):016x}")
        meaning = self._parse(definition)
        self._put_document(kind, f"{definition.digest:016x}", body)
        self._meanings[definition.digest] = meaning
        while len(self._meanings) > _CACHED:
            self._meanings.popitem(last=False)
        return meaning

    def _parse(self, definition: pb.Definition) -> Meaning:
        try:
            if definition.kind == pb.Definition.LAYOUT:
                return self._layout(definition.body, definition.digest)
            if definition.kind == pb.Definition.SILENCES:
                return self._silences(definition.body)
            return self._tenancy(definition.body)
        except (WireError, DecodeError) as error:
            raise Malformed("definition", str(error)) from None

    def _layout(self, body: bytes, name: int) -> KnownLayout:
        columns = Layout.parse(body).columns
        if len(columns) > self._limits.columns:
            raise Malformed("definition", f"layout of {len(columns)} columns; at most {self._limits.columns}")
        if len({(column.metric.name, column.labels) for column in columns}) != len(columns):
            raise Malformed("definition", "layout has a column twice")
        for column in columns:
            for value in column.labels:
                _Text(f"label of {column.metric.name}", value, self._limits.label_bytes).check()
        shared = {id(metric): self._shared(metric) for metric in {id(c.metric): c.metric for c in columns}.values()}
        layout = Layout(tuple(Column(shared[id(column.metric)], column.labels) for column in columns))
        # The wire's name holds, even where a newer agent says more than this version would write again.
        layout.__dict__["digest"] = name
        return KnownLayout(layout)

    def _shared(self, metric: Metric) -> Metric:
        known = self._metrics.get(metric)
        if known is None:
            _Text(f"help of {metric.name}", metric.help, _HELP_BYTES).check()
            _Text(f"unit of {metric.name}", metric.unit, _UNIT_BYTES).check()
            if len(metric.states) > _STATES:
                raise Malformed("definition", f"{metric.name} has {len(metric.states)} states; at most {_STATES}")
            if len(self._metrics) >= _CACHED:
                self._metrics.clear()
            known = self._metrics[metric] = metric
        return known

    def _silences(self, body: bytes) -> tuple[Silence, ...]:
        silences = parse_silences(body)
        if len(silences) > _SILENCES:
            raise Malformed("definition", f"{len(silences)} silences; at most {_SILENCES}")
        for silence in silences:
            for text in (silence.probe, silence.metric, silence.resource):
                _Text("name in a silence", text, self._limits.label_bytes).check()
            for text in (silence.detail, silence.remedy):
                _Text("text of a silence", text, _HELP_BYTES).check()
        return silences

    def _tenancy(self, body: bytes) -> pb.Tenancy:
        tenancy = pb.Tenancy.FromString(body)
        if len(tenancy.members) > _MEMBERS:
            raise Malformed("definition", f"tenancy of {len(tenancy.members)} members; at most {_MEMBERS}")
        return tenancy
