"""Fixtures: an agent's socket for processes and for runs of this process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball.training import fork
from tests.client.hooks.reports import Reports, listening


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reports]:
    """Receive what this process, or one that it starts, reports. Its runs are finished afterwards."""
    monkeypatch.setenv("FLYBALL_SOCKET", str(tmp_path / "agent.sock"))
    monkeypatch.setenv("FLYBALL_RUN", "hooked")
    for name in ("RANK", "WORLD_SIZE", "FLYBALL_TOTAL_STEPS", "FLYBALL_MEASURE", "FLYBALL_LABELS", "FLYBALL_POLICY"):
        monkeypatch.delenv(name, raising=False)
    with listening(tmp_path / "agent.sock") as found:
        yield found
        for run in fork.open_runs():
            run.finish()
