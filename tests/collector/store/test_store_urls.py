"""Opening stores by URL."""

from pathlib import Path

import pytest

from flyball_collector.store.memory import MemoryStore
from flyball_collector.store.sqlite import SqliteStore
from flyball_collector.store.store_urls import WrongStoreUrl, open_store


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
    """`memory:` needs no path."""
    assert isinstance(open_store("memory:"), MemoryStore)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgres://x", "unknown scheme 'postgres'; expected one of memory:, sqlite:"),
        ("/var/lib/x.db", "unknown scheme"),
        ("sqlite://x.db", "expected sqlite:////absolute/path"),
        ("sqlite:", "expected sqlite:////absolute/path"),
        ("memory:x", "expected only memory:"),
    ],
)
def test_other_urls_are_refused(url: str, message: str) -> None:
    """The message names the value and the valid forms."""
    with pytest.raises(WrongStoreUrl, match=f"store URL {url!r}: .*{message}"):
        open_store(url)
