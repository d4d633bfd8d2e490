"""The streams for adjustments under broken networks and with only one side willing: records never notice."""

import asyncio
import contextlib
import json
import socket
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import grpc
import pytest

from flyball_proto.v1 import adjust_pb2 as pb
from tests.adjusted_jobs import SETTINGS, propose
from tests.collector.adjustments.adjust_agent import AdjustAgent
from tests.judge import newest_live
from tests.processes import Agent, Collector, wait_for
from tests.proxy import Proxy

pytestmark = pytest.mark.faults

ON = {"adjustments.enabled": "true"}


class OneRank:
    """A training of one rank, without PyTorch: it declares a value on the agent's socket, and reads lines."""

    def __init__(self, agent: Agent, run: str) -> None:
        wait_for("the agent listens", agent.socket.exists)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(60)
        self._socket.connect(str(agent.socket))
        self._lines = self._socket.makefile("rb")
        self.run = self.name = run
        self.send(kind="hello", run=run)

    def declare(self) -> None:
        """Declare a value that nobody objects to."""
        value = {"name": "chunk", "value": 1, "choices": [1, 2], "safety": 1}
        self.send(kind="able", attempt=0, policy="auto", step=10, step_seconds=0.1, register="local", values=[value])

    def send(self, **message: Any) -> None:
        """Send one line."""
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def read(self, kind: str) -> dict[str, Any]:
        """Return the next line of a kind."""
        while True:
            message: dict[str, Any] = json.loads(self._lines.readline())
            if message["kind"] == kind:
                return message

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """One collector that adjusts whenever it is asked: each test must leave it healthy for the next."""
    with Collector(tmp_path_factory.mktemp("collector"), SETTINGS) as process:
        yield process.start_ready()


@contextlib.contextmanager
def agent_of(folder: Path, name: str, port: int, **settings: object) -> Iterator[Agent]:
    """Run an agent."""
    with Agent(folder / name, port, {"host": name, "interval_seconds": 0.2, **settings}) as agent:
        yield agent.start()


def is_known(collector: Collector, run: str) -> bool:
    """Return True if the collector has adjustable values of a run."""
    with contextlib.suppress(urllib.error.HTTPError):
        return bool(collector.get(f"/api/v1/runs/{run}/values")["values"])
    return False


def connected(agent: Agent) -> int:
    """Return how often the agent has opened a stream for adjustments."""
    return agent.log.read_text().count("adjustments_connected")


def test_a_cut_network_costs_an_adjustment_nothing(collector: Collector, tmp_path: Path) -> None:
    """After the cut, the ranks are known again without a word of theirs, and an offer reaches them."""
    with (
        Proxy(collector.grpc_port) as network,
        agent_of(tmp_path, "node-1", network.port, **ON) as agent,
        OneRank(agent, "cut") as rank,
    ):
        assert rank.read("adjustments") == {"kind": "adjustments", "enabled": True}
        rank.declare()
        wait_for("the agent is connected", lambda: connected(agent) == 1)
        network.cut()
        wait_for("the agent is connected again", lambda: connected(agent) == 2)
        wait_for("the rank is known", lambda: is_known(collector, "cut"))
        reaches(collector, rank)


def test_a_willing_agent_and_an_unwilling_collector(tmp_path: Path) -> None:
    """The agent logs the reason once, and its records arrive."""
    with Collector(tmp_path / "unwilling") as unwilling:
        unwilling.start_ready()
        with agent_of(tmp_path, "node-2", unwilling.grpc_port, **ON) as agent:
            wait_for("the agent knows", lambda: "adjustments are off on this collector" in agent.log.read_text())
            wait_for("the host reports", lambda: newest_live(unwilling, "node-2"))
            assert agent.log.read_text().count("adjustments_unavailable") == 1
            assert agent.log.read_text().count("collector_unreachable") == 0


def test_an_unwilling_agent_and_a_willing_collector(collector: Collector, tmp_path: Path) -> None:
    """A client's declaration is ignored, and the collector knows no value."""
    with agent_of(tmp_path, "node-3", collector.grpc_port) as agent:
        with OneRank(agent, "unwilling") as rank:
            rank.declare()
            assert rank.read("ignored") == {"kind": "ignored", "ignored": "able"}
        wait_for("the host reports", lambda: newest_live(collector, "node-3"))
        assert not is_known(collector, "unwilling")
        assert "adjustments" not in agent.log.read_text()


def value(name: str = "v", text: str = "1", safety: int = 1) -> pb.AdjustableValue:
    """Return an adjustable value."""
    return pb.AdjustableValue(name=name, value=text, choices=["1", "2"], safety=safety)


WRONG = (
    pb.Able(run="wrong", world_size=1, values=[value(f"v{n}") for n in range(4_000)]),
    pb.Able(run="wrong", world_size=1, values=[value(text="NaN")]),
    pb.Able(run="wrong", world_size=1, values=[value(safety=9)]),
    pb.Able(run="wrong", rank=9, world_size=4),
    pb.Able(run="x" * 10_000, world_size=1),
)
STOLEN = pb.Able(run="honest", world_size=1, policy="auto", register="local", values=[value("chunk")])
ANSWER = pb.Answer(id="00000000000000ff", run="honest", rank=0, verdict=pb.Answer.APPLIED, observed="2")
OUT_OF_MEMORY = pb.OutOfMemory(run="honest", step=10, where="backward", name="chunk", to="2", recovered=True)


async def test_a_hostile_host_changes_nothing_for_others(collector: Collector, tmp_path: Path) -> None:
    """Wrong declarations, answers to nothing, and a run of another host: its rank keeps its value and its offers."""
    with agent_of(tmp_path, "node-4", collector.grpc_port, **ON) as agent, OneRank(agent, "honest") as rank:
        rank.declare()
        await asyncio.to_thread(wait_for, "the rank is known", lambda: is_known(collector, "honest"))
        too_long = await AdjustAgent.greeted(collector.grpc_port, "hostile")
        await too_long.send(pb.AgentAdjust(able=pb.Able(values=[value(f"v{n}") for n in range(10_000)])))
        assert (await too_long.ended())[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
        await too_long.close()
        hostile = await AdjustAgent.greeted(collector.grpc_port, "hostile")
        for able in (*WRONG, STOLEN):
            await hostile.send(pb.AgentAdjust(able=able))
        for answer in [ANSWER] * 50:
            await hostile.send(pb.AgentAdjust(answer=answer))
        await hostile.send(pb.AgentAdjust(out_of_memory=OUT_OF_MEMORY))
        await hostile.send(pb.AgentAdjust(left=pb.Left(run="honest", rank=0)))
        await hostile.hello()  # the last message: its answer shows that all others were read
        assert (await hostile.ended())[1] == "a stream has one hello"
        await hostile.close()
        (found,) = collector.get("/api/v1/runs/honest/values")["values"]
        assert (found["name"], found["value"], found["ranks"]) == ("chunk", 1, 1)
        assert await asyncio.to_thread(reaches, collector, rank) == ["node-4"]
        assert not is_known(collector, "wrong")
    assert collector.alive()


def reaches(collector: Collector, rank: OneRank) -> list[str]:
    """Propose a change from 1 to 2, and check that the rank gets the offer and the commit. Return the hosts."""
    offered = propose(collector, rank.run, 2)
    offer = rank.read("offer")
    assert (offer["id"], offer["name"], offer["from"], offer["to"]) == (offered["id"], "chunk", 1, 2)
    rank.send(kind="prepared", id=offer["id"], step=11)
    assert rank.read("commit")["id"] == offer["id"]
    hosts: list[str] = offered["hosts"]
    return hosts
