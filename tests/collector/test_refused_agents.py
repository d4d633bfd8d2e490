"""The newest refused agents."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import structlog
from structlog.testing import capture_logs

from flyball_collector.refused_agents import RefusedAgent, RefusedAgents


@dataclass
class Clock:
    """A clock that only the test moves."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _fresh_log() -> Iterator[None]:
    """Let `capture_logs` see the events whatever another test has configured."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


def refuse(agents: RefusedAgents, host: str = "gpu-01", reason: str = "too old") -> None:
    agents.record(host=host, certificate="gpu-02", address="10.0.0.1", reason=reason)


def test_equal_refusals_are_counted() -> None:
    """One entry has the first and the last time; another reason is another entry, and the newest is first."""
    clock = Clock()
    agents = RefusedAgents(clock=clock)
    refuse(agents)
    clock.now = 1005.0
    refuse(agents, reason="expired")
    clock.now = 1010.0
    refuse(agents)
    assert agents.recent() == (
        RefusedAgent("gpu-01", "gpu-02", "10.0.0.1", "too old", 2, 1000.0, 1010.0),
        RefusedAgent("gpu-01", "gpu-02", "10.0.0.1", "expired", 1, 1005.0, 1005.0),
    )


def test_the_oldest_is_dropped() -> None:
    """Invented names cannot fill the memory, and their length is limited."""
    agents = RefusedAgents(kept=3, clock=Clock())
    for number in range(10):
        refuse(agents, f"{number}" + "x" * 10_000, "y" * 10_000)
    assert [agent.host[0] for agent in agents.recent()] == ["9", "8", "7"]
    assert max(len(agent.host) + len(agent.reason) for agent in agents.recent()) == 480


def test_the_first_refusal_is_logged_and_then_one_a_minute() -> None:
    """The line has the count, so that repeats are counted instead of repeated."""
    clock = Clock()
    agents = RefusedAgents(clock=clock)
    with capture_logs() as lines:
        for second in range(121):
            clock.now = 1000.0 + second
            refuse(agents)
    assert [(line["event"], line["log_level"], line["count"]) for line in lines] == [
        ("agent_refused", "warning", 1),
        ("agent_refused", "warning", 61),
        ("agent_refused", "warning", 121),
    ]
    assert {(line["host"], line["certificate"], line["address"], line["reason"]) for line in lines} == {
        ("gpu-01", "gpu-02", "10.0.0.1", "too old")
    }


def test_invented_names_do_not_fill_the_log() -> None:
    """Sixty lines a minute are the limit; the next line has the number of those left out."""
    clock = Clock()
    agents = RefusedAgents(clock=clock)
    with capture_logs() as lines:
        for number in range(100):
            refuse(agents, f"host-{number}")
        clock.now += 60.0
        refuse(agents, "later")
    assert len(lines) == 61
    assert "not_logged" not in lines[59]
    assert lines[60]["not_logged"] == 40


def test_text_that_cannot_be_encoded_is_replaced() -> None:
    """Lone surrogates would break the log, the API and the page."""
    agents = RefusedAgents(clock=Clock())
    refuse(agents, "gpu-\udcff")
    assert agents.recent()[0].host == "gpu-?"
