"""Definitions: verified, within limits, stored once, shared between hosts."""

import pytest

from flyball_collector.ingest.definitions import Definitions
from flyball_collector.ingest.rejection import Malformed
from flyball_collector.settings import LimitSettings
from flyball_collector.testing import make_definition, make_layout
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column, Layout, digest
from flyball_proto.metric import Metric, gauge
from flyball_proto.unavailable_reading import Reason, UnavailableReading, unavailable_body
from flyball_proto.v1 import telemetry_pb2 as pb

LAYOUT = make_layout()
ITEM = gauge("test_ratio", "ratio", "x", ("item",))


class DocumentShelf:
    """Stores documents like the writer."""

    def __init__(self) -> None:
        self.documents: list[tuple[str, str, bytes]] = []

    def put(self, kind: str, name: str, body: bytes) -> None:
        self.documents.append((kind, name, body))


def definition(kind: pb.Definition.Kind.ValueType, body: bytes) -> pb.Definition:
    return pb.Definition(kind=kind, digest=digest(body), body=body)


def test_a_layout_is_learned_and_stored_once() -> None:
    """The second host with the same layout shares it, and the store is not written again."""
    stored = DocumentShelf()
    definitions = Definitions(LimitSettings(), stored.put)
    first = definitions.learn(make_definition(LAYOUT))
    assert isinstance(first, KnownLayout)
    assert first.layout.columns == LAYOUT.columns
    assert definitions.learn(make_definition(LAYOUT)) is first
    assert stored.documents == [("layout", f"{LAYOUT.digest:016x}", LAYOUT.body)]


def test_a_layout_of_a_newer_agent_keeps_its_digest() -> None:
    """Fields that this version does not know change nothing: the digest covers the received bytes."""
    body = LAYOUT.body + b"\x9a\x06\x03abc"
    known = Definitions(LimitSettings(), DocumentShelf().put).learn(definition(pb.Definition.LAYOUT, body))
    assert isinstance(known, KnownLayout)
    assert known.digest == digest(body) != LAYOUT.digest


def test_unavailable_readings_and_tenancies_are_learned() -> None:
    """The other two kinds are parsed to their own types."""
    stored = DocumentShelf()
    definitions = Definitions(LimitSettings(), stored.put)
    unavailable_reading = UnavailableReading("nvidia", "", "", Reason.ABSENT)
    assert definitions.learn(definition(pb.Definition.UNAVAILABLE, unavailable_body([unavailable_reading]))) == (
        unavailable_reading,
    )
    tenancy = pb.Tenancy(members=[pb.Member(pid=5, run="r")])
    assert definitions.learn(definition(pb.Definition.TENANCY, tenancy.SerializeToString())) == tenancy
    assert [kind for kind, _, _ in stored.documents] == ["unavailable", "tenancy"]


def test_a_kind_of_a_newer_version_is_ignored() -> None:
    """An unknown kind is not an error."""
    unknown = pb.Definition.FromString(b"\x08\x63")
    assert Definitions(LimitSettings(), DocumentShelf().put).learn(unknown) is None


TWICE = Layout((Column(ITEM, ("a",)), Column(ITEM, ("a",))))
LONG_HELP = Layout((Column(gauge("test_ratio", "ratio", "x" * 5000)),))
MANY_STATES = Layout((Column(Metric("test_state", ITEM.kind, "state", "x", states=("s",) * 300)),))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\xff\xff", "do(es)? not parse"),
        (make_layout(20).body, "layout of 20 columns; the limit is 10"),
        (pb.Layout(metrics=[pb.Metric()] * 20).SerializeToString(), "layout of 20 metrics; the limit is 10"),
        (Layout((Column(ITEM, ("x" * 300,)),)).body, "label of test_ratio of 300 characters"),
        (TWICE.body, "a duplicate column"),
        (LONG_HELP.body, "help of test_ratio"),
        (MANY_STATES.body, "300 states"),
        (pb.Layout(metrics=[pb.Metric(name="Bad Name", scale=1)], columns=[pb.Column()]).SerializeToString(), "name"),
        (pb.Layout(columns=[pb.Column(metric=3)]).SerializeToString(), "only 0 are declared"),
    ],
)
def test_a_definition_beyond_a_limit_is_refused(body: bytes, message: str) -> None:
    """The message names the value and the limit; nothing is stored."""
    stored = DocumentShelf()
    definitions = Definitions(LimitSettings(columns=10), stored.put)
    with pytest.raises(Malformed, match=message):
        definitions.learn(definition(pb.Definition.LAYOUT, body))
    assert stored.documents == []


def test_too_many_unavailable_readings_are_refused() -> None:
    """They are counted before objects are made of them."""
    many = pb.UnavailableReadings(unavailable=[pb.UnavailableReading()] * 4_097)
    with pytest.raises(Malformed, match="4097 unavailable readings; the limit is 4096"):
        Definitions(LimitSettings(), DocumentShelf().put).learn(
            definition(pb.Definition.UNAVAILABLE, many.SerializeToString())
        )


def test_a_false_digest_is_refused() -> None:
    """A body with another digest than it claims would corrupt other hosts' records."""
    false = make_definition(LAYOUT)
    false.digest = 5
    with pytest.raises(Malformed, match="body with digest"):
        Definitions(LimitSettings(), DocumentShelf().put).learn(false)
