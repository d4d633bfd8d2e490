"""Kinds of documents: which are definitions, and which belong to a host."""

from collections.abc import Callable

from flyball_collector.store.contract import Document, StoreError
from flyball_proto.errors import WireError
from flyball_proto.layout import Layout, metric_from_message
from flyball_proto.metric import Metric
from flyball_proto.v1 import telemetry_pb2 as pb

DEFINITIONS = ("layout", "unavailable", "tenancy", "columns")  # content-addressed, shared by hosts

_REMEMBERED = 4096  # layouts


def definition_id(digest: int) -> str:
    """Return the id of a definition's document."""
    return f"{digest:016x}"


def belongs_to(document_id: str, host: str) -> bool:
    """Return True if a document belongs to a host: its id is `HOST` or `HOST/…`."""
    return document_id == host or document_id.startswith(f"{host}/")


class LayoutFinder:
    """Finds layouts by digest, with a cache of some thousand."""

    def __init__(self, get_document: Callable[[str, str], Document | None], kind: str = "layout") -> None:
        self._get_document = get_document
        self._kind = kind
        self._known: dict[int, Layout] = {}
        self._metrics: dict[bytes, Metric] = {}  # by their serialized declaration, because hosts use the same ones

    def __call__(self, digest: int) -> Layout | None:
        layout = self._known.get(digest)
        if layout is None and (document := self._get_document(self._kind, definition_id(digest))):
            try:
                layout = Layout.parse(document.body, self._metric)
            except WireError as error:
                raise StoreError(f"document {self._kind}/{document.id} is damaged: {error}") from None
            while len(self._known) >= _REMEMBERED:
                self._known.pop(next(iter(tuple(self._known))), None)  # the oldest; other threads may do the same
            self._known[digest] = layout
        return layout

    def _metric(self, message: pb.Metric) -> Metric:
        body = message.SerializeToString()
        metric = self._metrics.get(body)
        if metric is None:
            if len(self._metrics) >= _REMEMBERED:
                self._metrics.clear()
            metric = self._metrics[body] = metric_from_message(message)
        return metric
