"""A rank with one adjustable value, which makes its steps twice as fast or as slow, and a person who changes it."""

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any, Self

import grpc

from flyball_collector.adjustments.streams.adjust_streams import CONNECT
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2
from tests.adjusted_jobs import VALUE, propose
from tests.processes import Collector

SETTINGS = {
    "adjustments.enabled": "true",
    "adjustments.cooldown_minutes": 0,
    "adjustments.max_per_hour": 60,
    "adjustments.watch_steps": 20,
}
"""Settings of a collector with which a change of this rank is judged within half a minute."""

_STEPS = {1: 2, 2: 4}  # each second, by value


class AdjustedRank:
    """The only rank of a run. The value is changed again and again: 2 is kept, and 1 is rolled back."""

    def __init__(self, collector: Collector, host: str, run: str, pid: int) -> None:
        self._collector, self._host, self._run, self._pid = collector, host, run, pid
        self._value, self._step = 1, 0
        self._offers: dict[str, pb.Offer] = {}
        self._due: list[pb.Offer] = []
        self._outgoing: queue.SimpleQueue[pb.AgentAdjust | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        channel = self._exit.enter_context(grpc.insecure_channel(f"127.0.0.1:{self._collector.grpc_port}"))
        connect: Any = channel.stream_stream(CONNECT, pb.AgentAdjust.SerializeToString, pb.CollectorAdjust.FromString)
        self._outgoing.put(pb.AgentAdjust(hello=pb.AdjustHello(host=self._host, epoch=b"e" * 16, agent_version="1")))
        self._declare()
        for work in (self._read, self._ask):
            arguments = (connect(iter(self._outgoing.get, None)),) if work == self._read else ()
            thread = threading.Thread(target=work, args=arguments, name=f"{self._host} {work.__name__}")
            thread.start()
            self._exit.callback(thread.join)
        return self

    def __exit__(self, *details: object) -> None:
        self._stop.set()
        self._outgoing.put(None)
        self._exit.close()

    def second(self) -> telemetry_pb2.StepReport:
        """Report the steps of a second, after which changes that are due take effect."""
        steps = _STEPS[self._value]
        self._step += steps
        for offer in [each for each in self._due if each.at_step <= self._step]:
            self._due.remove(offer)
            self._value = json.loads(offer.to)
            self._answer(offer, pb.Answer.APPLIED, observed=offer.to)
            self._declare()
        return telemetry_pb2.StepReport(
            run=self._run, world_size=1, pid=self._pid, step=self._step, steps=steps, step_seconds=1.0
        )

    def _declare(self) -> None:
        value = pb.AdjustableValue(
            name=VALUE, value=str(self._value), choices=["1", "2"], safety=1, when="step", lever="calls_per_batch"
        )
        able = pb.Able(
            run=self._run, world_size=1, pid=self._pid, policy="auto", register="local", step=self._step,
            step_seconds=1 / _STEPS[self._value], values=[value],
        )  # fmt: skip
        self._outgoing.put(pb.AgentAdjust(able=able))

    def _answer(self, offer: pb.Offer, verdict: "pb.Answer.Verdict.ValueType", observed: str = "") -> None:
        answer = pb.Answer(
            id=offer.id, run=self._run, pid=self._pid, verdict=verdict, step=self._step, observed=observed
        )
        self._outgoing.put(pb.AgentAdjust(answer=answer))

    def _read(self, messages: Iterator[pb.CollectorAdjust]) -> None:
        with suppress(grpc.RpcError):  # the collector has stopped
            for message in messages:
                if message.HasField("offer"):
                    self._offers[message.offer.id] = message.offer
                    self._answer(message.offer, pb.Answer.PREPARED)
                elif message.HasField("commit"):
                    self._due.append(self._offers[message.commit.id])

    def _ask(self) -> None:
        """Ask for the other value whenever none is being changed: the collector refuses while one is."""
        while not self._stop.wait(1.0):
            with suppress(AssertionError, OSError):
                propose(self._collector, self._run, 3 - self._value)
