"""Checks the size of an agent's message before it is parsed, because parsing costs the event loop's time.

Four megabytes of empty GPUs take 0.3 s and half a gigabyte to parse. Only records and definitions may be that long, and
their content is bytes, which cost little. A message that is shorter than the limit is not looked at.
"""

from flyball_collector.ingest.rejection import Rejection
from flyball_collector.wire.status import StatusCode
from flyball_proto.v1 import telemetry_pb2 as pb

OTHER_BYTES = 512 * 1024  # a hello with 4,096 epochs has 330 KB
_LONG = frozenset({pb.AgentMessage.RECORDS_FIELD_NUMBER, pb.AgentMessage.DEFINITION_FIELD_NUMBER})
_FIELDS = 64  # in a long message: a field may be repeated, and Protobuf then merges its parts
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types (protobuf.dev, Encoding)
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}


def check_size(raw: bytes) -> None:
    """Raise `Rejection` if a long message holds much else than records or a definition."""
    if len(raw) <= OTHER_BYTES:
        return
    other = _other_bytes(raw)
    if other > OTHER_BYTES:
        raise Rejection(
            StatusCode.RESOURCE_EXHAUSTED,
            "message",
            f"a message with {other} bytes that are neither records nor a definition; the limit is {OTHER_BYTES}",
        )


def _other_bytes(raw: bytes) -> int:
    """Return the size of the fields that must be short. What cannot be read counts as such."""
    at = other = 0
    for _ in range(_FIELDS):
        if at >= len(raw):
            return other
        start = at
        tag, at = _varint(raw, at)
        number, kind = tag >> 3, tag & 7
        if kind == _BYTES:
            size, at = _varint(raw, at)
            at += size
        elif kind == _VARINT:
            _, at = _varint(raw, at)
        else:
            at += _FIXED_SIZES.get(kind, len(raw))
        if kind != _BYTES or number not in _LONG:
            other += at - start
    return len(raw)


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return a number and the offset behind it. A truncated one reaches behind the end."""
    value = shift = 0
    while at < len(raw) and shift < 64:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    return value, len(raw) + 1
