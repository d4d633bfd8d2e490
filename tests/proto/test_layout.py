"""Tests of the encoding of layouts and unavailable readings: nothing is lost, and equal ones have equal digests."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_proto.errors import WireError
from flyball_proto.layout import Column, Layout, digest
from flyball_proto.metric import Kind, Metric, counter, gauge, state
from flyball_proto.unavailable_reading import Reason, UnavailableReading, parse_unavailable, unavailable_body
from flyball_proto.v1 import telemetry_pb2 as pb

_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
_NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)
_METRICS = st.builds(
    Metric,
    name=_NAMES,
    kind=st.sampled_from(Kind),
    unit=_TEXT,
    help=_TEXT,
    labels=st.lists(_NAMES, max_size=3, unique=True).map(tuple),
    scale=st.integers(1, 10**9),
    states=st.lists(_TEXT, max_size=3).map(tuple),
)
_COLUMNS = _METRICS.flatmap(
    lambda metric: st.tuples(*[_TEXT] * len(metric.labels)).map(lambda labels: Column(metric, labels))
)
_UNAVAILABLE = st.builds(UnavailableReading, _TEXT, _TEXT, _TEXT, st.sampled_from(Reason), _TEXT, _TEXT)


@given(st.lists(_COLUMNS, max_size=12).map(tuple))
def test_a_layout_round_trips_and_keeps_its_digest(columns: tuple[Column, ...]) -> None:
    """The decoded columns equal the encoded ones, and the digest stays the same."""
    layout = Layout(columns)
    parsed = Layout.parse(layout.body)
    assert parsed.columns == columns
    assert parsed.digest == layout.digest == digest(layout.body)


@given(st.lists(_COLUMNS, max_size=12).map(tuple))
def test_columns_are_found_by_their_metric(columns: tuple[Column, ...]) -> None:
    """Each position is listed once, under its metric, in rising order."""
    places = Layout(columns).places
    assert {name: [columns[place].metric.name for place in found] for name, found in places.items()} == {
        name: [name] * len(found) for name, found in places.items()
    }
    assert sorted(place for found in places.values() for place in found) == list(range(len(columns)))
    assert all(found == sorted(found) for found in places.values())


@given(st.lists(_UNAVAILABLE, max_size=8))
def test_unavailable_readings_round_trip_in_one_order(unavailable: list[UnavailableReading]) -> None:
    """The order of unavailable readings does not change the encoding."""
    body = unavailable_body(unavailable)
    assert parse_unavailable(body) == tuple(sorted(unavailable))
    assert unavailable_body(reversed(unavailable)) == body


def test_a_newer_layout_with_unknown_fields_and_kinds_is_read() -> None:
    """A layout of a newer agent can be decoded."""
    message = pb.Layout.FromString(Layout((Column(gauge("memory_used_bytes", "bytes", "Used.")),)).body)
    message.metrics[0].kind = 17  # type: ignore[assignment]  # a kind of a newer version
    body = message.SerializeToString() + b"\xfa\x01\x03new"
    assert Layout.parse(body).columns[0].metric.kind is Kind.GAUGE


def test_a_reason_of_a_newer_version_is_unknown() -> None:
    """An unknown reason of a newer agent is decoded as UNKNOWN."""
    body = pb.UnavailableReadings(unavailable=[pb.UnavailableReading(probe="new", reason=99)]).SerializeToString()  # type: ignore[arg-type]
    assert parse_unavailable(body)[0].reason is Reason.UNKNOWN


@given(st.binary(max_size=200))
def test_any_bytes_give_a_layout_or_a_wire_error(body: bytes) -> None:
    """For any bytes, the only exception is WireError."""
    assert all(_parses_or_is_rejected(parse, body) for parse in (Layout.parse, parse_unavailable))


def _parses_or_is_rejected(parse: Callable[[bytes], object], body: bytes) -> bool:
    try:
        return parse(body) is not None
    except WireError as error:
        return bool(str(error))


@pytest.mark.parametrize(
    "message",
    [
        pb.Layout(columns=[pb.Column(metric=0)]),
        pb.Layout(metrics=[pb.Metric(name="Bad Name", scale=1)]),
        pb.Layout(metrics=[pb.Metric(name="good", scale=0)]),
        pb.Layout(metrics=[pb.Metric(name="good", scale=1, labels=["gpu"])], columns=[pb.Column(metric=0)]),
        pb.Layout(metrics=[pb.Metric(name="good", scale=1, labels=['a="b'])]),
    ],
)
def test_invalid_layouts_are_rejected(message: pb.Layout) -> None:
    """A column without its metric, an invalid name and a scale of zero are rejected."""
    with pytest.raises(WireError):
        Layout.parse(message.SerializeToString())


def test_each_declaration_sets_the_kind() -> None:
    """`gauge`, `counter` and `state` set the kind of the metric."""
    assert gauge("a_bytes", "bytes", "").kind is Kind.GAUGE
    assert counter("a_total", "bytes", "").kind is Kind.COUNTER
    assert state("a_state", "", ("off", "on")).states == ("off", "on")
