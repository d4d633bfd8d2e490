"""An agent that sends exactly the messages that a test wants, over a real channel."""

import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self

import grpc

from flyball_proto import PROTOCOL_VERSION
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import counter, gauge
from flyball_proto.packing import pack
from flyball_proto.v1 import telemetry_pb2 as pb
from flyball_proto.v1.telemetry_pb2_grpc import TelemetryStub

NUMBER = counter("test_number_total", "records", "The sequence of its record.")
CHECKSUM = gauge("test_checksum_state", "state", "Checksum of the epoch and sequence of its record.")
LAYOUT = Layout((Column(NUMBER), Column(CHECKSUM)))


def checksum(epoch: bytes, sequence: int) -> int:
    """Return the value of `CHECKSUM` for a record."""
    return (int.from_bytes(epoch[:4], "little") * 2654435761 + sequence * 40503) % 2**40


def record(epoch: bytes, sequence: int, *, layout: int = LAYOUT.digest, time_ns: int | None = None) -> pb.Record:
    """Return a record with its sequence and checksum as values."""
    values, validity = pack([sequence, checksum(epoch, sequence)], [1, 1])
    now = time.time_ns() if time_ns is None else time_ns
    boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - (time.time_ns() - now)
    return pb.Record(sequence=sequence, time_ns=now, boot_ns=boot_ns, layout=layout, values=values, validity=validity)


class RawAgent:
    """One stream to a collector. The collector's messages are added to `replies`."""

    def __init__(
        self,
        port: int,
        host: str = "raw-1",
        *,
        epoch: bytes | None = None,
        boot_id: str = "boot-a",
        credentials: grpc.ChannelCredentials | None = None,
        authority: str | None = None,
    ) -> None:
        self.host, self.boot_id = host, boot_id
        self.epoch = epoch or secrets.token_bytes(16)
        options = [("grpc.ssl_target_name_override", authority)] if authority else []
        address = f"127.0.0.1:{port}"
        self._channel = (
            grpc.secure_channel(address, credentials, options) if credentials else grpc.insecure_channel(address)
        )
        self._outgoing: queue.SimpleQueue[pb.AgentMessage | None] = queue.SimpleQueue()
        self.replies: list[pb.CollectorMessage] = []
        self.error: grpc.RpcError | None = None
        self._ended = threading.Event()

    def open(
        self, *, first: int = 0, following: int = 0, ended: bool = False, more: Sequence[pb.SpooledEpoch] = ()
    ) -> Self:
        """Open the stream, then send a hello and the layout."""
        stream = TelemetryStub(self._channel).Connect(iter(self._outgoing.get, None))
        threading.Thread(target=self._read, args=(stream,), name=f"raw agent {self.host}", daemon=True).start()
        epoch = pb.Epoch(id=self.epoch, started_ns=time.time_ns(), boot_id=self.boot_id, interval_ms=1000)
        mine = pb.SpooledEpoch(epoch=epoch, first=first, next=following, ended=ended)
        hello = pb.Hello(host=self.host, agent_version="0.1.0", protocol=PROTOCOL_VERSION, epochs=[*more, mine])
        self.send(pb.AgentMessage(hello=hello))
        self.send(pb.AgentMessage(definition=definition(LAYOUT)))
        return self

    def _read(self, stream: Iterator[pb.CollectorMessage]) -> None:
        try:
            for reply in stream:
                self.replies.append(reply)
        except grpc.RpcError as error:
            self.error = error
        self._ended.set()

    def send(self, message: pb.AgentMessage) -> None:
        message.sent_boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        self._outgoing.put(message)

    def send_records(self, sequences: Iterable[int], *, replay: bool = False) -> None:
        """Send records with checksums in one message."""
        records = [record(self.epoch, sequence).SerializeToString() for sequence in sequences]
        self.send(pb.AgentMessage(records=pb.Records(epoch=self.epoch, records=records, replay=replay)))

    def settled(self) -> int:
        """Return the newest acknowledged prefix of this epoch."""
        ours = [
            r.acknowledgement.settled
            for r in list(self.replies)
            if r.WhichOneof("kind") == "acknowledgement" and r.acknowledgement.epoch == self.epoch
        ]
        return max(ours, default=0)

    def wait(self, what: str, check: Callable[["RawAgent"], bool], seconds: float = 60.0) -> None:
        """Wait until `check` is true, or fail with a message."""
        deadline = time.monotonic() + seconds
        while not check(self):
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"{what}: not within {seconds:g} s; error {self.error}, replies {self.replies[-3:]}"
                )
            time.sleep(0.02)

    def wait_ended(self, seconds: float = 60.0) -> grpc.StatusCode:
        """Wait until the collector ends the stream. Return the status code."""
        if not self._ended.wait(seconds):
            raise AssertionError(f"the stream is still open after {seconds:g} s")
        return self.error.code() if self.error else grpc.StatusCode.OK

    def detail(self) -> str:
        return str(self.error.details()) if self.error else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._outgoing.put(None)
        self._channel.close()


def definition(layout: Layout) -> pb.Definition:
    """Return the message with a layout."""
    return pb.Definition(kind=pb.Definition.LAYOUT, digest=layout.digest, body=layout.body)
