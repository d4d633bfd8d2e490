"""Checks an agent's hello, which lists its epochs and their sequences."""

from dataclasses import dataclass

from flyball_collector.ingest.identity import check_host
from flyball_collector.ingest.rejection import Rejection
from flyball_collector.wire.status import StatusCode
from flyball_proto import PROTOCOL_VERSION
from flyball_proto.v1 import telemetry_pb2 as pb

OLDEST_PROTOCOL = max(1, PROTOCOL_VERSION - 2)
_MINUTE_MS = 60_000
_DAY_MS = 86_400_000
_EPOCHS = 4096
_VERSION_BYTES = 64
_BOOT_ID_BYTES = 64
_LATEST_SEQUENCE = 1 << 53


@dataclass(frozen=True, slots=True)
class SpooledEpoch:
    """An epoch of which the agent has the sequences first … next - 1."""

    id: bytes
    boot_id: str
    interval_ms: int
    first: int
    next: int
    ended: bool

    @property
    def ticks(self) -> int:
        """Return the ticks of a block, which covers a minute."""
        return max(1, _MINUTE_MS // self.interval_ms)


@dataclass(frozen=True, slots=True)
class AgentHello:
    """A valid hello."""

    host: str
    agent_version: str
    epochs: tuple[SpooledEpoch, ...]  # the current one last


def check_hello(hello: pb.Hello) -> AgentHello:
    """Check a hello from outside. Raises `Rejection` with the fault."""
    host = check_host(hello.host)
    if hello.protocol < OLDEST_PROTOCOL:
        raise Rejection(
            StatusCode.FAILED_PRECONDITION,
            "protocol",
            f"protocol {hello.protocol} of agent {hello.agent_version[:_VERSION_BYTES]!r} is too old; "
            f"this collector serves {OLDEST_PROTOCOL} and newer: upgrade the agent",
        )
    if not 1 <= len(hello.epochs) <= _EPOCHS:
        raise _invalid(f"hello lists {len(hello.epochs)} epochs; expected 1 to {_EPOCHS}")
    epochs = tuple(_check_epoch(spooled) for spooled in hello.epochs)
    if len({epoch.id for epoch in epochs}) != len(epochs):
        raise _invalid("hello lists an epoch twice")
    if epochs[-1].ended:
        raise _invalid("the last epoch of hello is the current one and cannot have ended")
    return AgentHello(host, hello.agent_version[:_VERSION_BYTES], epochs)


def _check_epoch(spooled: pb.SpooledEpoch) -> SpooledEpoch:
    epoch = spooled.epoch
    if len(epoch.id) != 16:
        raise _invalid(f"epoch id of {len(epoch.id)} bytes; expected 16")
    interval = epoch.interval_ms
    if not 0 < interval <= _DAY_MS or (_MINUTE_MS % interval and interval % _MINUTE_MS):
        raise _invalid(f"interval of {interval} ms; it must divide a minute or be a multiple of a minute")
    if len(epoch.boot_id) > _BOOT_ID_BYTES:
        raise _invalid(f"boot id of {len(epoch.boot_id)} characters; the limit is {_BOOT_ID_BYTES}")
    if not spooled.first <= spooled.next <= _LATEST_SEQUENCE:
        raise _invalid(f"sequences {spooled.first} … {spooled.next} of epoch {epoch.id.hex()} are not a valid range")
    return SpooledEpoch(epoch.id, epoch.boot_id, interval, spooled.first, spooled.next, spooled.ended)


def _invalid(message: str) -> Rejection:
    return Rejection(StatusCode.INVALID_ARGUMENT, "hello", message)
