"""The benchmark of MongoDB, against a server of the wire protocol and, where it is installed, the real one."""

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball.host.benchmarks import mongo_benchmark
from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.benchmarks.mongo_benchmark import PREFIX, measure_mongo, pattern_documents, shown_server
from tests.client.host.benchmarks.wire_mongo import WireMongo

pymongo = pytest.importorskip("pymongo")


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_inserts_and_queries_are_measured_and_the_database_is_dropped() -> None:
    """It has a name of its own, and nothing of it stays."""
    with WireMongo() as server:
        found = measure_mongo(server.url, documents=200)
        assert (found.documents, found.version) == (200, "7.0.99")
        assert found.inserts_per_second > found.single_inserts_per_second > 0
        assert found.insert_latency_ms == pytest.approx(1e3 / found.single_inserts_per_second)
        assert found.queries_per_second > 0
        assert server.commands.count("insert") == 201
        assert server.commands.count("find") == 200
        assert all(name.startswith(PREFIX) for name in server.created)
        assert server.databases == {}


def test_slow_single_inserts_end_at_their_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a slow network the rate is that of fewer inserts."""
    monkeypatch.setattr(mongo_benchmark, "SINGLE_SECONDS", 0.3)
    with WireMongo(single_insert_seconds=0.1) as server:
        found = measure_mongo(server.url, documents=100)
        assert 0.1 <= found.insert_latency_ms / 1e3 < 3
        assert server.commands.count("insert") < 10


@pytest.mark.parametrize("command", ["insert", "find", "dropDatabase"])
def test_a_refused_command_is_the_reason(command: str) -> None:
    """The database is dropped nevertheless, and a refused drop does not replace the measurement."""
    with WireMongo(refused=command) as server:
        with contextlib.nullcontext() if command == "dropDatabase" else pytest.raises(BenchmarkFailed, match=command):
            measure_mongo(server.url, documents=20)
        assert "dropDatabase" in server.commands


def test_without_a_server_the_reason_comes_within_a_second() -> None:
    """It names the server and what to do, in one line."""
    port = free_port()
    with pytest.raises(BenchmarkFailed) as failed:
        measure_mongo(f"mongodb://user:secret@127.0.0.1:{port}")
    reason = str(failed.value)
    assert f"no MongoDB answers at 127.0.0.1:{port} within 1 s" in reason
    assert "FLYBALL_MONGODB" in reason
    assert "\n" not in reason
    assert "secret" not in reason


@pytest.mark.parametrize("url", ["mongodb://", "http://x", "mongodb://h:1:2", "mongodb://u%zz:p@h"])
def test_a_wrong_url_is_a_reason(url: str) -> None:
    """No traceback reaches the user."""
    with pytest.raises(BenchmarkFailed):
        measure_mongo(url)


@pytest.mark.parametrize(
    "user", ["", "user:secret@", "user:sec/ret@", "user:sec?ret@", "user:sec#ret@", "user:s@cret@"]
)
def test_passwords_are_not_shown(user: str) -> None:
    """The server's name is that without user and password, even if these are not escaped."""
    assert shown_server(f"mongodb://{user}db1:27017,db2:27017/?replicaSet=r") == "db1:27017,db2:27017"
    assert shown_server("nothing") == "the URL of MongoDB"


def test_a_password_that_is_not_escaped_is_refused_before_any_connection() -> None:
    """Its beginning would be taken for a host and a port, and shown."""
    with pytest.raises(BenchmarkFailed) as failed:
        measure_mongo("mongodb://user:123/secret@127.0.0.1:1")
    assert str(failed.value).startswith("127.0.0.1:1: user name and password must be escaped in a URL")
    assert "123" not in str(failed.value)


def test_documents_are_those_of_a_learner() -> None:
    """Each has a key of its own, and as many tokens as a chunk."""
    documents = pattern_documents(10, 3)
    assert len({each["_id"] for each in documents}) == 3
    assert all(isinstance(each["sequence"], list) and len(each["sequence"]) == 15 for each in documents)


@pytest.fixture
def real_server(tmp_path: Path) -> Iterator[str]:
    """Start a real MongoDB."""
    program = shutil.which("mongod")
    if program is None:
        pytest.skip("mongod is not installed; the wire protocol is tested against a server of our own")
    port = free_port()
    command = [program, "--dbpath", str(tmp_path), "--port", str(port), "--bind_ip", "127.0.0.1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        yield f"mongodb://127.0.0.1:{port}"
        child.terminate()


def test_a_real_server_is_measured(real_server: str) -> None:
    """And no database of ours stays."""
    client = pymongo.MongoClient(real_server, serverSelectionTimeoutMS=30_000)
    client.admin.command("ping")
    assert measure_mongo(real_server).inserts_per_second > 100
    assert [name for name in client.list_database_names() if name.startswith(PREFIX)] == []
    client.close()
