"""UnavailableReadings: what could not be read, and why. Absent is never zero."""

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
class UnavailableReading:
    """One probe, metric or resource that says nothing; an empty `metric` or `resource` means every one."""

    probe: str
    metric: str
    resource: str
    reason: Reason
    detail: str = ""
    remedy: str = ""


def unavailable_body(unavailable: Iterable[UnavailableReading]) -> bytes:
    """UnavailableReadings as they travel; equal sets have equal bytes."""
    message = pb.UnavailableReadings()
    for unavailable_reading in sorted(unavailable):
        message.unavailable.add(
            probe=unavailable_reading.probe,
            metric=unavailable_reading.metric,
            resource=unavailable_reading.resource,
            reason=pb.UnavailableReading.Reason.ValueType(unavailable_reading.reason),
            detail=unavailable_reading.detail,
            remedy=unavailable_reading.remedy,
        )
    return message.SerializeToString(deterministic=True)


def parse_unavailable(body: bytes) -> tuple[UnavailableReading, ...]:
    """Read unavailable readings that came from outside; a reason of a newer version is `UNKNOWN`."""
    try:
        message = pb.UnavailableReadings.FromString(body)
    except DecodeError as error:
        raise WireError(f"unavailable of {len(body)} bytes do not parse: {error}") from None
    return tuple(
        UnavailableReading(s.probe, s.metric, s.resource, _reason(s.reason), s.detail, s.remedy)
        for s in message.unavailable
    )


def _reason(code: int) -> Reason:
    return Reason(code) if code in Reason._value2member_map_ else Reason.UNKNOWN
