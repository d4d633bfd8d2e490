"""The whole collector: what a rank answers to an offer arrives at a receiver."""

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any

from flyball_collector.collector import Collector
from flyball_collector.settings import CollectorSettings
from flyball_daemon.settings import load
from flyball_proto.v1 import adjust_pb2 as pb
from tests.collector.adjustments.adjust_agent import AdjustAgent
from tests.collector.notify.running_notifier import until
from tests.receiver import Receiver

RUN = pb.Able(
    run="r", world_size=1, pid=7, policy="ask", register="local", step=10, step_seconds=0.1,
    values=[pb.AdjustableValue(name="chunk", value="1", choices=["1", "2", "3"], safety=1, when="step")],
)  # fmt: skip


def ask(port: int, path: str, fields: dict[str, Any]) -> Any:
    """Ask the collector for something as an operator. Return its answer, or its refusal."""
    headers = {"Content-Type": "application/json", "X-Flyball-Operator": "1"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/{path}", json.dumps(fields).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return {"state": "refused", "text": refusal.read().decode()}


async def fail(port: int, agent: AdjustAgent) -> str:
    """Let a person change the value, and the rank make another change than was offered. Return the adjustment's id."""
    await agent.send(pb.AgentAdjust(able=RUN))
    found: dict[str, Any] = {}
    async with asyncio.timeout(60):
        while found.get("state") != "offered":  # until the collector has read the declaration
            fields = {"run": "r", "name": "chunk", "to": 2, "why": "a test"}
            found = await asyncio.to_thread(ask, port, "adjustments", fields)
            await asyncio.sleep(0.05)
    offer = (await agent.receive()).offer
    for verdict, observed in ((pb.Answer.PREPARED, ""), (pb.Answer.APPLIED, "3")):
        answer = pb.Answer(
            id=offer.id, run="r", pid=7, verdict=verdict, step=offer.at_step if observed else 11, observed=observed
        )
        await agent.send(pb.AgentAdjust(answer=answer))
        if not observed:
            assert (await agent.receive()).commit.id == offer.id
    return offer.id


async def test_a_failed_adjustment_is_notified(receiver: Receiver) -> None:
    """The governor, the alerts and the notifier of a running collector are connected."""
    assignments = (
        "grpc.listen=127.0.0.1:0", "http.listen=127.0.0.1:0", "store.url=memory:", "log_level=error",
        "adjustments.enabled=true", f'notify.webhook.urls=["{receiver.url}"]', "notify.webhook.group_wait_seconds=0",
    )  # fmt: skip
    collector = Collector(load(CollectorSettings, assignments=assignments))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(collector.run())
        await asyncio.wait_for(collector.ready.wait(), 20)
        agent = await AdjustAgent.greeted(collector.grpc_port)
        failed = await fail(collector.http_port, agent)
        await until(receiver.posts, 20)
        await agent.close()
        collector.stop()
    (event,) = receiver.posts()[0].json["events"]
    assert (event["alert"], event["event"]["severity"]) == ("FlyballAdjustmentFailed", "critical")
    assert "chunk 1 → 2 failed" in event["description"]
    assert len(failed) == 16
