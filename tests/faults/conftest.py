"""Give each test its own collector and agents."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.processes import Agent, Collector

AgentMaker = Callable[..., Agent]


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    """Kill every process that a test started, at its end."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def collector(tmp_path: Path, processes: ExitStack) -> Collector:
    """Start a collector that writes the open block of a host two seconds after its last record."""
    return processes.enter_context(Collector(tmp_path / "collector", {"not_reporting_after_seconds": 2})).start_ready()


@pytest.fixture
def make_agent(tmp_path: Path, processes: ExitStack, collector: Collector) -> AgentMaker:
    """Make agents that sample five times a second, with the given name and settings."""

    def make(
        name: str = "node-1", port: int | None = None, environment: dict[str, str] | None = None, **settings: object
    ) -> Agent:
        chosen = {"host": name, "interval_seconds": 0.2, **{key.replace("__", "."): v for key, v in settings.items()}}
        return processes.enter_context(
            Agent(tmp_path / name, port or collector.grpc_port, chosen, environment=environment)
        )

    return make
