"""Refused agents are listed for people who look for a missing host."""

from dataclasses import replace

from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.testing import WallClock, fetch, make_parts, serving
from flyball_collector.refused_agents import RefusedAgents


def refusing() -> tuple[CollectorParts, RefusedAgents, WallClock]:
    """Return parts with a list of refused agents that uses their clock."""
    clock = WallClock()
    refused = RefusedAgents(clock=lambda: clock() / 1e9)
    return replace(make_parts(clock=clock), refused_agents=refused.recent), refused, clock


async def test_refused_agents_are_listed_with_their_reasons() -> None:
    """The newest is the first, repeats are counted, and unknown names are null."""
    parts, refused, clock = refusing()
    for _ in range(3):
        refused.record(host="node-9", certificate="node-8", address="10.0.0.9", reason="certificate is for node-8")
        clock.now_ns += 10**9
    refused.record(host="", certificate="", address="10.0.0.7", reason="no certificate")
    async with serving(parts) as url:
        newest, other = (await fetch(f"{url}/api/v1/refused-agents")).json()
    assert (newest["host"], newest["certificate"], newest["address"]) == (None, None, "10.0.0.7")
    assert (other["host"], other["certificate"], other["count"]) == ("node-9", "node-8", 3)
    assert other["reason"] == "certificate is for node-8"
    assert other["last"]["unix"] - other["first"]["unix"] == 2.0
    assert other["last"]["rfc3339"].endswith("Z")


async def test_the_overview_shows_those_of_the_last_hour() -> None:
    """An agent that was refused earlier is only in the list, and without one the key is missing."""
    parts, refused, clock = refusing()
    async with serving(parts) as url:
        assert "refused_agents" not in (await fetch(f"{url}/api/v1/overview")).json()
        refused.record(host="node-9", certificate="", address="10.0.0.9", reason="no certificate")
        clock.now_ns += 60 * 10**9
        assert [each["host"] for each in (await fetch(f"{url}/api/v1/overview")).json()["refused_agents"]] == ["node-9"]
        clock.now_ns += 3600 * 10**9
        assert "refused_agents" not in (await fetch(f"{url}/api/v1/overview")).json()
        assert len((await fetch(f"{url}/api/v1/refused-agents")).json()) == 1


async def test_the_list_is_documented() -> None:
    """The description of the API has the path and its answer."""
    async with serving(make_parts()) as url:
        document = (await fetch(f"{url}/openapi.json")).json()
    assert document["paths"]["/api/v1/refused-agents"]["get"]["summary"] == "Refused agents"
    assert {"host", "reason", "count"} <= set(document["components"]["schemas"]["RefusedAgentAnswer"]["properties"])
