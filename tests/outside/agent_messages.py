"""Messages of an agent, serialized, for clients that send bytes."""

import secrets
import time
from collections.abc import Iterable

from flyball_proto import PROTOCOL_VERSION
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.raw_agent import LAYOUT, definition, record

CONNECT = "/flyball.v1.Telemetry/Connect"


def hello(host: str, epoch: bytes) -> bytes:
    """Return the first message of a stream."""
    spooled = pb.SpooledEpoch(
        epoch=pb.Epoch(id=epoch, started_ns=time.time_ns(), boot_id="boot-outside", interval_ms=1000)
    )
    sent = pb.Hello(host=host, agent_version="0.1.0", protocol=PROTOCOL_VERSION, epochs=[spooled])
    return _sent(pb.AgentMessage(hello=sent))


def layout() -> bytes:
    """Return the definition of the records' layout."""
    return _sent(pb.AgentMessage(definition=definition(LAYOUT)))


def records(epoch: bytes, sequences: Iterable[int]) -> bytes:
    """Return records with checksums in one message."""
    bodies = [record(epoch, sequence).SerializeToString() for sequence in sequences]
    return _sent(pb.AgentMessage(records=pb.Records(epoch=epoch, records=bodies)))


def of_a_later_version(size: int) -> bytes:
    """Return a message with a field that no version has yet: it is read, counted and ignored."""
    return b"\xa2\x1f" + _with_length(secrets.token_bytes(size))  # field 500


def large_records(epoch: bytes, size: int) -> bytes:
    """Return a message of records that contains nothing but a field of a later version."""
    return b"\x22" + _with_length(pb.Records(epoch=epoch).SerializeToString() + of_a_later_version(size))


def _with_length(body: bytes) -> bytes:
    size, length = len(body), bytearray()
    while size > 127:
        length.append(size % 128 + 128)
        size //= 128
    return bytes([*length, size]) + body


def _sent(message: pb.AgentMessage) -> bytes:
    message.sent_boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return message.SerializeToString()
