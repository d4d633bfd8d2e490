"""No test of this folder reports to an agent of this machine."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLYBALL_SOCKET", str(tmp_path / "missing.sock"))
