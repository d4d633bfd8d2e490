"""The benchmark of MongoDB against a server that is not ours: plain, with users, with TLS, and as a replica set."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.benchmarks.mongo_benchmark import PREFIX, measure_mongo
from flyball_collector.security.certs import Authority, Part
from tests.outside.mongo_server import running_server

pymongo = pytest.importorskip("pymongo")
DOCUMENTS = 50
PASSWORD = "pass/w@rd"
ESCAPED = "pass%2Fw%40rd"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server without users, which is the only member of the replica set `secantus`."""
    with running_server("--storage-path", str(tmp_path_factory.mktemp("data"))) as server:
        yield server


def reason(url: str) -> str:
    """Return why a server is not measured; it never has the password."""
    with pytest.raises(BenchmarkFailed) as failed:
        measure_mongo(url, documents=DOCUMENTS)
    text = str(failed.value)
    assert "\n" not in text
    assert PASSWORD not in text
    assert "pass" not in text.replace("password", "")
    return text


def test_a_server_that_is_not_ours_is_measured_and_left_as_it_was(plain: str) -> None:
    """All rates are known, and no database of the benchmark stays."""
    found = measure_mongo(f"mongodb://{plain}", documents=DOCUMENTS)
    assert found.version is not None
    assert found.inserts_per_second > found.single_inserts_per_second > 0
    assert found.queries_per_second > 0
    with pymongo.MongoClient(f"mongodb://{plain}") as client:
        assert [name for name in client.list_database_names() if name.startswith(PREFIX)] == []


@pytest.mark.parametrize("options", ["?replicaSet=secantus", "?compressors=zlib", "?w=majority&journal=true"])
def test_options_of_the_url_are_those_of_the_measurement(plain: str, options: str) -> None:
    """A first member that does not answer is passed over."""
    url = f"mongodb://127.0.0.1:1,{plain}/{options}" if "replicaSet" in options else f"mongodb://{plain}/{options}"
    assert measure_mongo(url, documents=DOCUMENTS).inserts_per_second > 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("?replicaSet=other", "check replicaSet in the URL"),
        ("?w=5", "Not enough data-bearing nodes"),
        ("?tls=true", "whether it uses TLS"),
    ],
)
def test_options_that_the_server_cannot_fulfil_are_the_reason(plain: str, options: str, expected: str) -> None:
    """With what to check."""
    assert expected in reason(f"mongodb://{plain}/{options}")


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server with users that speaks TLS only, and the file of its authority."""
    folder = tmp_path_factory.mktemp("secured")
    data = ("--storage-path", str(folder / "data"))
    with running_server(*data, keep=True) as server, pymongo.MongoClient(f"mongodb://{server}") as client:
        client.admin.command("createUser", "writer", pwd=PASSWORD, roles=["root"])
        client.admin.command("createUser", "reader", pwd=PASSWORD, roles=["read"])
    authority = Authority(folder / "ca")
    authority.initialise()
    mine = authority.issue("localhost", Part.COLLECTOR)
    tls = ("--tls-cert-file", str(mine.certificate_file), "--tls-key-file", str(mine.key_file))
    with running_server(*data, "--auth", *tls) as server:
        yield server.replace("127.0.0.1", "localhost"), authority.ca_file


def test_a_user_is_authenticated_over_tls(secured: tuple[str, Path]) -> None:
    """By SCRAM, with a certificate of one's own authority."""
    server, authority = secured
    found = measure_mongo(f"mongodb://writer:{ESCAPED}@{server}/?tls=true&tlsCAFile={authority}", documents=DOCUMENTS)
    assert found.inserts_per_second > 0
    assert found.server == server


@pytest.mark.parametrize(
    ("user", "tls", "expected"),
    [
        ("", True, "does not let this user write"),
        ("writer:wrong@", True, "refuses the user (authentication failed); check name, password and authSource"),
        (f"reader:{ESCAPED}@", True, "use a user with the role readWriteAnyDatabase"),
        (f"writer:{PASSWORD}@", True, "must be escaped in a URL: write %2F for /"),
        (f"writer:{ESCAPED}@", False, "add tls=true to the URL"),
    ],
)
def test_a_server_that_answers_but_refuses_is_not_one_that_does_not_answer(
    secured: tuple[str, Path], user: str, tls: bool, expected: str
) -> None:
    """The reason names what to check, and never the password."""
    server, authority = secured
    assert expected in reason(f"mongodb://{user}{server}/" + (f"?tls=true&tlsCAFile={authority}" if tls else ""))


def test_an_unknown_authority_is_the_reason(secured: tuple[str, Path]) -> None:
    """The certificate is to be checked, not the address."""
    assert "check its certificate" in reason(f"mongodb://writer:{ESCAPED}@{secured[0]}/?tls=true")
