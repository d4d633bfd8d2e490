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


class Shelf:
    """Keeps documents as the writer would."""

    def __init__(self) -> None:
        self.documents: list[tuple[str, str, bytes]] = []

    def put(self, kind: str, name: str, body: bytes) -> None:
        self.documents.append((kind, name, body))


def definition(kind: pb.Definition.Kind.ValueType, body: bytes) -> pb.Definition:
    return pb.Definition(kind=kind, digest=digest(body), body=body)


def test_a_layout_is_learned_and_stored_once() -> None:
    """The second host with the same layout shares it, and the store is not written again."""
    shelf = Shelf()
    definitions = Definitions(LimitSettings(), shelf.put)
    first = definitions.learn(make_definition(LAYOUT))
    assert isinstance(first, KnownLayout)
    assert first.layout.columns == LAYOUT.columns
    assert definitions.learn(make_definition(LAYOUT)) is first
    assert shelf.documents == [("layout", f"{LAYOUT.digest:016x}", LAYOUT.body)]


def test_a_layout_of_a_newer_agent_keeps_its_name() -> None:
    """Fields that this version does not know change nothing: the digest is of the bytes that came."""
    body = LAYOUT.body + b"\x9a\x06\x03abc"
    known = Definitions(LimitSettings(), Shelf().put).learn(definition(pb.Definition.LAYOUT, body))
    assert isinstance(known, KnownLayout)
    assert known.digest == digest(body) != LAYOUT.digest


def test_unavailable_readings_and_tenancies_are_learned() -> None:
    """The other two kinds arrive as what they are."""
    shelf = Shelf()
    definitions = Definitions(LimitSettings(), shelf.put)
    unavailable_reading = UnavailableReading("nvidia", "", "", Reason.ABSENT)
    assert definitions.learn(definition(pb.Definition.UNAVAILABLE, unavailable_body([unavailable_reading]))) == (
        unavailable_reading,
    )
    tenancy = pb.Tenancy(members=[pb.Member(pid=5, run="r")])
    assert definitions.learn(definition(pb.Definition.TENANCY, tenancy.SerializeToString())) == tenancy
    assert [kind for kind, _, _ in shelf.documents] == ["unavailable", "tenancy"]


def test_a_kind_of_a_newer_version_is_ignored() -> None:
    """Unknown is not wrong."""
    unknown = pb.Definition.FromString(b"\x08\x63")
    assert Definitions(LimitSettings(), Shelf().put).learn(unknown) is None


TWICE = Layout((Column(ITEM, ("a",)), Column(ITEM, ("a",))))
LONG_HELP = Layout((Column(gauge("test_ratio", "ratio", "x" * 5000)),))
MANY_STATES = Layout((Column(Metric("test_state", ITEM.kind, "state", "x", states=("s",) * 300)),))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"\xff\xff", "do(es)? not parse"),
        (make_layout(20).body, "layout of 20 columns; at most 10"),
        (Layout((Column(ITEM, ("x" * 300,)),)).body, "label of test_ratio of 300 characters"),
        (TWICE.body, "a column twice"),
        (LONG_HELP.body, "help of test_ratio"),
        (MANY_STATES.body, "300 states"),
        (pb.Layout(metrics=[pb.Metric(name="Bad Name", scale=1)], columns=[pb.Column()]).SerializeToString(), "name"),
        (pb.Layout(columns=[pb.Column(metric=3)]).SerializeToString(), "only 0 are declared"),
    ],
)
def test_what_breaks_a_limit_is_not_learned(body: bytes, words: str) -> None:
    """Each limit says what was found and how much is allowed; nothing is stored."""
    shelf = Shelf()
    definitions = Definitions(LimitSettings(columns=10), shelf.put)
    with pytest.raises(Malformed, match=words):
        definitions.learn(definition(pb.Definition.LAYOUT, body))
    assert shelf.documents == []


def test_a_false_digest_is_not_believed() -> None:
    """A body that does not have the digest it claims is refused: it would poison other hosts."""
    false = make_definition(LAYOUT)
    false.digest = 5
    with pytest.raises(Malformed, match="body of digest"):
        Definitions(LimitSettings(), Shelf().put).learn(false)
