"""Stores by URL."""

from pathlib import Path

import pytest

from flyball_collector.store.contract import StoreError
from flyball_collector.store.memory import MemoryStore
from flyball_collector.store.open import open_store
from flyball_collector.store.sqlite import SqliteStore


def test_a_sqlite_url_names_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three slashes are relative, four absolute, and percent signs escape."""
    monkeypatch.chdir(tmp_path)
    for url, path in (("sqlite:///x.db", Path("x.db")), (f"sqlite:///{tmp_path}/a%20b.db", tmp_path / "a b.db")):
        store = open_store(url)
        assert isinstance(store, SqliteStore)
        assert store.path == path
        assert path.exists()
        store.close()


def test_memory_is_a_store() -> None:
    """`memory:` keeps nothing and needs nothing."""
    assert isinstance(open_store("memory:"), MemoryStore)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgres://x", "unknown kind of store 'postgres'; known are memory:, sqlite:"),
        ("/var/lib/x.db", "unknown kind of store"),
        ("sqlite://x.db", "expected sqlite:////absolute/path"),
        ("sqlite:", "expected sqlite:////absolute/path"),
        ("memory:x", "takes nothing"),
    ],
)
def test_other_urls_are_refused(url: str, message: str) -> None:
    """The error names the setting, the value and what is known."""
    with pytest.raises(StoreError, match=f"store.url .*{message}"):
        open_store(url)
