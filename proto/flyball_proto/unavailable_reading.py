"""Unavailable readings: metrics that could not be read, with the reason. An unavailable value is never zero."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from google.protobuf.message import DecodeError

from flyball_proto.errors import WireError
from flyball_proto.v1 import telemetry_pb2 as pb


class Reason(IntEnum):
    """Why a reading is unavailable. The numbers are those of the protocol."""

    UNKNOWN = 0
    ABSENT = 1
    DENIED = 2
    UNSUPPORTED = 3
    FAILED = 4
    TIMED_OUT = 5
    STALE = 6

    @property
    def word(self) -> str:
        """The reason in text and metrics, such as `timed_out`."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, order=True)
class UnavailableReading:
    """A probe, metric or resource that could not be read. An empty `metric` or `resource` means all of them."""

    probe: str
    metric: str
    resource: str
    reason: Reason
    detail: str = ""
    remedy: str = ""


def unavailable_body(unavailable: Iterable[UnavailableReading]) -> bytes:
    """Encode unavailable readings. Equal sets have equal bytes."""
    message = pb.UnavailableReadings()
    for missing in sorted(unavailable):
        message.unavailable.add(
            probe=missing.probe,
            metric=missing.metric,
            resource=missing.resource,
            reason=pb.UnavailableReading.Reason.ValueType(missing.reason),
            detail=missing.detail,
            remedy=missing.remedy,
        )
    return message.SerializeToString(deterministic=True)


def parse_unavailable(body: bytes) -> tuple[UnavailableReading, ...]:
    """Decode received unavailable readings. A reason of a newer version becomes `UNKNOWN`."""
    try:
        message = pb.UnavailableReadings.FromString(body)
    except DecodeError as error:
        raise WireError(f"unavailable readings of {len(body)} bytes do not parse: {error}") from None
    return tuple(
        UnavailableReading(each.probe, each.metric, each.resource, _reason(each.reason), each.detail, each.remedy)
        for each in message.unavailable
    )


def _reason(code: int) -> Reason:
    return Reason(code) if code in Reason._value2member_map_ else Reason.UNKNOWN
