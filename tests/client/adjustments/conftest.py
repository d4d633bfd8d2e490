"""Fixtures of the tests of adjustments."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent, open_rank

Adjusted = tuple[AdjustingAgent, Run]


@pytest.fixture
def adjusted(tmp_path: Path) -> Iterator[Callable[..., Adjusted]]:
    """Yield a function that opens a run with an agent of its own."""
    with ExitStack() as stack:

        def opened(**options: object) -> Adjusted:
            agent = AdjustingAgent(tmp_path / "agent.sock")
            stack.callback(agent.close)
            run = open_rank(tmp_path / "agent.sock", **options)  # type: ignore[arg-type]  # options of the function
            stack.callback(run.finish)
            agent.socket.accept()
            return agent, run

        yield opened
