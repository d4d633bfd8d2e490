"""Refused agents, for people who look for a missing host."""

from collections.abc import Sequence

import msgspec
from litestar import get

from flyball_collector.http.collector_parts import PartsDependency
from flyball_collector.refused_agents import RefusedAgent
from flyball_collector.times import Moment, moment

RECENT_SECONDS = 3600.0
"""The page and `flyball hosts` show agents that were refused since then."""
MAX_SHOWN = 20
_SECOND = 10**9


class RefusedAgentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An agent and the reason for which it was refused. Null means unknown."""

    host: str | None  # as the agent claims
    certificate: str | None  # the names in its verified certificate
    address: str
    reason: str
    count: int
    first: Moment
    last: Moment


@get("/refused-agents", summary="Refused agents")
async def list_refused_agents(parts: PartsDependency) -> list[RefusedAgentAnswer]:
    """List agents whose connections were refused since the collector started, the newest first."""
    return [_answer(agent) for agent in parts.refused_agents()]


def recently_refused(agents: Sequence[RefusedAgent], now_ns: int) -> list[RefusedAgentAnswer]:
    """Return the agents refused in the last hour that the overview shows, the newest first."""
    since = now_ns / _SECOND - RECENT_SECONDS
    return [_answer(agent) for agent in agents[:MAX_SHOWN] if agent.last_at >= since]


def _answer(agent: RefusedAgent) -> RefusedAgentAnswer:
    return RefusedAgentAnswer(
        host=agent.host or None,
        certificate=agent.certificate or None,
        address=agent.address,
        reason=agent.reason,
        count=agent.count,
        first=moment(int(agent.first_at * _SECOND)),
        last=moment(int(agent.last_at * _SECOND)),
    )
