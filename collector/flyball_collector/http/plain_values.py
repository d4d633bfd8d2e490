"""Converts protobuf messages to plain values. Unset fields are omitted, because unknown is not zero."""

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

Plain = dict[str, object]


def plain(message: Message) -> Plain:
    """Return the set fields of a message by name. 64-bit numbers stay numbers."""
    return {field.name: _value(field, value) for field, value in message.ListFields()}


def _value(field: FieldDescriptor, value: object) -> object:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict(sorted(value.items()))  # type: ignore[attr-defined]  # a protobuf map
    if isinstance(value, Message):
        return plain(value)
    if isinstance(value, str | bytes | int | float):
        return value.hex() if isinstance(value, bytes) else value
    return [_value(field, item) for item in value]  # type: ignore[attr-defined]  # a repeated field
