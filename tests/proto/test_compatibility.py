"""Tests that the protocol is compatible with all releases."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from flyball_proto.compatibility import breaks
from flyball_proto.v1 import adjust_pb2, telemetry_pb2

_RELEASES = sorted((Path(__file__).parent / "releases").glob("*.binpb"))


def _current() -> FileDescriptorProto:
    return FileDescriptorProto.FromString(telemetry_pb2.DESCRIPTOR.serialized_pb)


@pytest.mark.parametrize("release", _RELEASES, ids=lambda path: path.stem)
def test_the_protocol_is_compatible_with_every_release(release: Path) -> None:
    """No field of a release was renumbered, retyped or reused."""
    assert list(breaks(FileDescriptorProto.FromString(release.read_bytes()), _current())) == []


def test_there_is_a_release() -> None:
    """There is at least one release for the test above."""
    assert _RELEASES


def _renumber(file: FileDescriptorProto) -> None:
    file.message_type[0].field[0].number = 99


def _retype(file: FileDescriptorProto) -> None:
    _message(file, "Record").field[0].type = FieldDescriptorProto.TYPE_DOUBLE


def _reuse(file: FileDescriptorProto) -> None:
    _message(file, "Record").field[0].name = "something_else"


def _drop_message(file: FileDescriptorProto) -> None:
    file.message_type.remove(_message(file, "Lost"))


def _rename_reason(file: FileDescriptorProto) -> None:
    _message(file, "UnavailableReading").enum_type[0].value[1].name = "GONE"


def _rename_method(file: FileDescriptorProto) -> None:
    file.service[0].method[0].name = "Attach"


def _message(file: FileDescriptorProto, name: str) -> DescriptorProto:
    return next(message for message in file.message_type if message.name == name)


@pytest.mark.parametrize("damage", [_renumber, _retype, _reuse, _drop_message, _rename_reason, _rename_method])
def test_every_incompatible_change_is_found(damage: Callable[[FileDescriptorProto], None]) -> None:
    """The comparison finds each kind of incompatible change."""
    changed = _current()
    damage(changed)
    assert list(breaks(_current(), changed))


def test_a_reserved_number_may_be_used_but_not_freed() -> None:
    """Fields that were planned may come; a number that is neither reserved nor used could be reused wrongly later."""
    planned, freed, used = _current(), _current(), _current()
    _message(planned, "Record").reserved_range.add(start=900, end=902)
    assert list(breaks(planned, freed)) == ["numbers 900-901 of Record are no longer reserved"]
    _message(used, "Record").field.add(
        name="as_planned", number=901, type=FieldDescriptorProto.TYPE_STRING, label=FieldDescriptorProto.LABEL_OPTIONAL
    )
    assert list(breaks(planned, used)) == []


def test_adding_is_allowed() -> None:
    """A new field with a new number is compatible."""
    changed = _current()
    changed.message_type[0].field.add(
        name="newer", number=500, type=FieldDescriptorProto.TYPE_STRING, label=FieldDescriptorProto.LABEL_OPTIONAL
    )
    assert list(breaks(_current(), changed)) == []


@pytest.mark.parametrize("release", _RELEASES, ids=lambda path: path.stem)
def test_a_released_collector_reads_the_reports_of_a_newer_agent(release: Path) -> None:
    """It has the fields that it knows, and keeps the others: bytes that it stores are complete."""
    pool = DescriptorPool()
    pool.AddSerializedFile(release.read_bytes())
    released = GetMessageClass(pool.FindMessageTypeByName("flyball.v1.Record"))
    report = telemetry_pb2.StepReport(
        run="r", rank=3, step=9, steps=2, step_seconds=0.5, attempt=1, device_seconds=0.25, dropped=4,
        calls=[telemetry_pb2.CallReport(service="kato", count=3, seconds=0.5, errors=1)],
    )  # fmt: skip
    report.oom_retries, report.paused_seconds, report.throttled_seconds = 2, 1.5, 0.25
    outcome = telemetry_pb2.AdjustmentOutcome(id="00000000000000a1", run="r", rank=3, outcome="applied", observed="8")
    record = telemetry_pb2.Record(sequence=7, steps=[report], adjustments=[outcome])
    found: Any = released.FromString(record.SerializeToString())
    assert (found.steps[0].run, found.steps[0].rank, found.steps[0].step) == ("r", 3, 9)
    assert telemetry_pb2.Record.FromString(found.SerializeToString()) == record


@pytest.mark.parametrize("release", _RELEASES, ids=lambda path: path.stem)
def test_the_reports_of_a_released_agent_have_no_attempt_and_no_calls(release: Path) -> None:
    """They are unknown or empty here."""
    pool = DescriptorPool()
    pool.AddSerializedFile(release.read_bytes())
    released: Any = GetMessageClass(pool.FindMessageTypeByName("flyball.v1.StepReport"))
    sent = released(run="r", rank=3, step=9, steps=2, step_seconds=0.5, tokens=8.0)
    report = telemetry_pb2.StepReport.FromString(sent.SerializeToString())
    assert (report.tokens, report.attempt, report.dropped, list(report.calls)) == (8.0, 0, 0, [])
    for name in ("device_seconds", "oom_retries", "paused_seconds", "throttled_seconds"):
        assert not report.HasField(name)


@pytest.mark.parametrize("release", _RELEASES, ids=lambda path: path.stem)
def test_a_released_collector_does_not_serve_adjustments(release: Path) -> None:
    """They are a service of their own, so it answers a newer agent UNIMPLEMENTED and loses no record."""
    released = FileDescriptorProto.FromString(release.read_bytes())
    current = adjust_pb2.DESCRIPTOR.services_by_name["Adjust"]
    assert (current.full_name, [method.name for method in current.methods]) == ("flyball.v1.Adjust", ["Connect"])
    assert "Adjust" not in {service.name for service in released.service}


@pytest.mark.parametrize("message", [adjust_pb2.AgentAdjust, adjust_pb2.CollectorAdjust])
def test_a_message_of_a_newer_version_has_no_kind_here(message: type[Any]) -> None:
    """A receiver ignores it, and keeps its bytes."""
    newer = b"\x7a\x02\x08\x01"  # field 15
    found = message.FromString(newer)
    assert found.WhichOneof("kind") is None
    assert found.SerializeToString() == newer
