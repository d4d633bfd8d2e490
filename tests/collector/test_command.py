import json
import sqlite3
from pathlib import Path

import pytest

from flyball_collector.command import main
from flyball_collector.store.store_urls import open_store


def test_every_wrong_setting_is_named_and_nothing_starts(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2, one line a mistake."""
    assert main(["--set", "grpc.listn=x", "--set", "limits.hosts=0"]) == 2
    errors = capsys.readouterr().err
    assert "did you mean 'grpc.listen'?" in errors
    assert "limits.hosts: expected an integer (above 0), not '0'" in errors


def test_an_open_door_is_refused_until_somebody_insists(capsys: pytest.CaptureFixture[str]) -> None:
    """Beyond loopback without TLS and tokens: status 2, and what to do."""
    assert main(["--set", "grpc.listen=0.0.0.0:0", "--set", "store.url=memory:"]) == 2
    assert "flyball certs init" in capsys.readouterr().err


def test_the_store_is_copied_beside_its_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A backup is whole, taken while the store is open, and never overwrites."""
    url = f"sqlite:///{tmp_path}/flyball.db"
    store = open_store(url)
    store.put_document("kind", "id", b"body")
    copy = tmp_path / "copy.db"
    assert main(["--set", f"store.url={url}", "store", "backup", str(copy)]) == 0
    assert main(["--set", f"store.url={url}", "store", "backup", str(copy)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert main(["--set", f"store.url={url}", "store", "size"]) == 0
    assert capsys.readouterr().out.endswith(" bytes\n")
    assert main(["--set", f"store.url={url}", "store", "size", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"url": url, "bytes": store.size_bytes()}
    store.close()
    connection = sqlite3.connect(copy)
    assert connection.execute("SELECT body FROM documents").fetchone() == (b"body",)
    connection.close()


def test_a_store_that_is_not_there_is_not_made_by_looking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A backup of nothing would only look like a backup."""
    for url in (f"sqlite:///{tmp_path}/none.db", "memory:"):
        assert main(["--set", f"store.url={url}", "store", "size"]) == 1
    assert "there is no store" in capsys.readouterr().err
    assert not (tmp_path / "none.db").exists()
