"""Captures over real streams: orders reach the agent, and agents that upload what nobody ordered are ended."""

import grpc

from flyball_collector.ingest.session import MAX_UNORDERED
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.captures.conftest import PART, Connected, part, request, some_bytes, target, until


async def test_an_order_and_its_result_travel_beside_the_records(connected: Connected) -> None:
    """The agent gets the order, sends parts as it is asked, and is finally asked to forget the result."""
    agent, body = await connected.agent(), some_bytes(2 * PART + 9)
    (capture,) = connected.orders.order(request("memory"), [target()])
    order = (await agent.receive("capture")).capture
    assert (order.id, order.what, order.pid) == (capture.id, "memory", 4711)
    await agent.write(pb.AgentMessage(captured=pb.Captured(id=order.id, state=pb.Captured.ACCEPTED)))
    await agent.write(pb.AgentMessage(captured=part(order.id, body)))
    while not (reply := (await agent.receive("capture_next")).capture_next).forget:
        await agent.write(pb.AgentMessage(captured=part(order.id, body, reply.offset)))
    found = connected.orders.captures.find()[0]
    assert found.state == "done"
    assert b"".join(connected.orders.archive.parts(found)) == body
    await agent.close()


async def test_uploads_without_an_order_end_the_stream(connected: Connected) -> None:
    """A few are answered with `forget`; an agent that goes on is disconnected, and nothing is stored."""
    agent = await connected.agent()
    body = some_bytes(16 * 1024)
    for number in range(MAX_UNORDERED + 1):
        await agent.write(pb.AgentMessage(captured=part(f"{number:016x}", body)))
    code, details = await agent.ended(20)
    assert (code, "captures that were not ordered" in details) == (grpc.StatusCode.RESOURCE_EXHAUSTED, True)
    assert any(message.capture_next.forget for message in agent.received)
    assert len(connected.orders.captures) == 0
    await agent.close()


async def test_a_part_that_is_too_long_for_a_message_ends_the_stream(connected: Connected) -> None:
    """A megabyte in one message is refused before it is parsed."""
    agent = await connected.agent()
    (capture,) = connected.orders.order(request(), [target()])
    await agent.write(pb.AgentMessage(captured=part(capture.id, some_bytes(1024 * 1024), size=1024 * 1024)))
    code, _ = await agent.ended(20)
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    await agent.close()


async def test_endless_parts_without_waiting_end_the_stream(connected: Connected) -> None:
    """An agent that floods its own order with parts is disconnected like any other flood."""
    agent, body = await connected.agent(), some_bytes(20 * 1024)
    (capture,) = connected.orders.order(request(), [target()])
    flood = part(capture.id, body * 2000, size=16 * 1024)
    for _ in range(2 * MAX_UNORDERED + 600):
        await agent.write(pb.AgentMessage(captured=flood))
    code, _ = await agent.ended(20)
    assert code in {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL}  # a flood may miss the reason
    await until(lambda: connected.orders.captures.find()[0].state == "failed")
    await agent.close()
