"""Silences: what could not be read, and why. Absent is never zero."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from google.protobuf.message import DecodeError

from flyball_proto.errors import WireError
from flyball_proto.v1 import telemetry_pb2 as pb


class Reason(IntEnum):
    """Why a reading is missing; the numbers are the wire's."""

    UNKNOWN = 0
    ABSENT = 1
    DENIED = 2
    UNSUPPORTED = 3
    FAILED = 4
    TIMED_OUT = 5
    STALE = 6

    @property
    def word(self) -> str:
        """As people and metrics say it: `timed_out`."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, order=True)
class Silence:
    """One probe, metric or resource that says nothing; an empty `metric` or `resource` means every one."""

    probe: str
    metric: str
    resource: str
    reason: Reason
    detail: str = ""
    remedy: str = ""


def silences_body(silences: Iterable[Silence]) -> bytes:
    """Silences as they travel; equal sets have equal bytes."""
    message = pb.Silences()
    for silence in sorted(silences):
        message.silences.add(
            probe=silence.probe,
            metric=silence.metric,
            resource=silence.resource,
            reason=pb.Silence.Reason.ValueType(silence.reason),
            detail=silence.detail,
            remedy=silence.remedy,
        )
    return message.SerializeToString(deterministic=True)


def parse_silences(body: bytes) -> tuple[Silence, ...]:
    """Read silences that came from outside; a reason of a newer version is `UNKNOWN`."""
    try:
        message = pb.Silences.FromString(body)
    except DecodeError as error:
        raise WireError(f"silences of {len(body)} bytes do not parse: {error}") from None
    return tuple(
        Silence(s.probe, s.metric, s.resource, _reason(s.reason), s.detail, s.remedy) for s in message.silences
    )


def _reason(code: int) -> Reason:
    return Reason(code) if code in Reason._value2member_map_ else Reason.UNKNOWN
