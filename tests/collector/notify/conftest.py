"""A real receiver and a real store, and retries that a test can wait for."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from flyball_collector.notify import sender
from flyball_collector.store.sqlite import SqliteStore
from tests.receiver import Receiver


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    with ExitStack() as stack:
        yield stack.enter_context(Receiver(tmp_path / "receiver")).start_listening()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "flyball.db")
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use retry delays that a test can wait for."""
    monkeypatch.setattr(sender, "FIRST_DELAY_SECONDS", 0.1)
    monkeypatch.setattr(sender, "MAX_DELAY_SECONDS", 0.3)
