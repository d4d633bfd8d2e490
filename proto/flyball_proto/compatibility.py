"""Finds incompatible changes of the protocol: renamed, renumbered, retyped or reused fields."""

from collections.abc import Iterable, Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)


def breaks(old: FileDescriptorProto, new: FileDescriptorProto) -> Iterator[str]:
    """Yield each part of `old` that `new` changes in an incompatible way."""
    yield from _messages("", old.message_type, new.message_type)
    yield from _enums("", old.enum_type, new.enum_type)
    methods = {(s.name, m.name): (m.input_type, m.output_type) for s in new.service for m in s.method}
    for service in old.service:
        for method in service.method:
            if methods.get((service.name, method.name)) != (method.input_type, method.output_type):
                yield f"method {service.name}.{method.name} was removed or has other messages"


def _messages(scope: str, old: Iterable[DescriptorProto], new: Iterable[DescriptorProto]) -> Iterator[str]:
    found = {message.name: message for message in new}
    for message in old:
        name = f"{scope}{message.name}"
        if message.name not in found:
            yield f"message {name} was removed"
            continue
        yield from _fields(name, message, found[message.name])
        yield from _messages(f"{name}.", message.nested_type, found[message.name].nested_type)
        yield from _enums(f"{name}.", message.enum_type, found[message.name].enum_type)


def _fields(name: str, old: DescriptorProto, new: DescriptorProto) -> Iterator[str]:
    found = {field.number: field for field in new.field}
    for field in old.field:
        current = found.get(field.number)
        if current is None:
            if not any(r.start <= field.number < r.end for r in new.reserved_range):
                yield f"field {name}.{field.name} = {field.number} was removed without reserving its number"
        elif _shape(current) != _shape(field):
            yield f"field {name}.{field.name} = {field.number} changed to {current.name} or its type changed"
    for reserved in old.reserved_range:
        kept = any(r.start <= reserved.start and reserved.end <= r.end for r in new.reserved_range)
        if not kept and not any(reserved.start <= number < reserved.end for number in found):
            yield f"numbers {reserved.start}-{reserved.end - 1} of {name} are no longer reserved"


def _shape(field: FieldDescriptorProto) -> tuple[str, int, int, str]:
    return field.name, field.type, field.label, field.type_name


def _enums(scope: str, old: Iterable[EnumDescriptorProto], new: Iterable[EnumDescriptorProto]) -> Iterator[str]:
    found = {enum.name: enum for enum in new}
    for enum in old:
        values = {value.number: value.name for value in found[enum.name].value} if enum.name in found else {}
        for value in enum.value:
            if values.get(value.number) != value.name:
                yield f"enum {scope}{enum.name}.{value.name} = {value.number} was removed or renamed"
