"""Tests that the protocol is compatible with all releases."""

from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from flyball_proto.compatibility import breaks
from flyball_proto.v1 import telemetry_pb2

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


def _unreserve(file: FileDescriptorProto) -> None:
    del _message(file, "Record").reserved_range[:]


def _drop_message(file: FileDescriptorProto) -> None:
    file.message_type.remove(_message(file, "Lost"))


def _rename_reason(file: FileDescriptorProto) -> None:
    _message(file, "UnavailableReading").enum_type[0].value[1].name = "GONE"


def _rename_method(file: FileDescriptorProto) -> None:
    file.service[0].method[0].name = "Attach"


def _message(file: FileDescriptorProto, name: str) -> DescriptorProto:
    return next(message for message in file.message_type if message.name == name)


@pytest.mark.parametrize(
    "damage", [_renumber, _retype, _reuse, _unreserve, _drop_message, _rename_reason, _rename_method]
)
def test_every_incompatible_change_is_found(damage: Callable[[FileDescriptorProto], None]) -> None:
    """The comparison finds each kind of incompatible change."""
    changed = _current()
    damage(changed)
    assert list(breaks(_current(), changed))


def test_adding_is_allowed() -> None:
    """A new field with a new number is compatible."""
    changed = _current()
    changed.message_type[0].field.add(
        name="newer", number=500, type=FieldDescriptorProto.TYPE_STRING, label=FieldDescriptorProto.LABEL_OPTIONAL
    )
    assert list(breaks(_current(), changed)) == []
