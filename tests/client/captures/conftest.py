"""An agent that orders captures."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball.captures import recording
from tests.client.captures.capturing_agent import CapturingAgent


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CapturingAgent]:
    """An agent with a run, in which no capture is in progress."""
    monkeypatch.setattr(recording, "_current", None)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    agent = CapturingAgent(tmp_path)
    yield agent
    agent.close()
