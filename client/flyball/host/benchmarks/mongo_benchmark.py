"""MongoDB: inserts and queries of 1,000 documents, in a database of its own that is dropped at the end."""

import os
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.hardware_parts import MongoSpeed

DOCUMENTS = 1_000
SINGLE_SECONDS = 1.5
"""Time limit of the single inserts, and of the queries. Over a slow network fewer than 1,000 are made."""

CONNECT_SECONDS = 1.0
OPERATION_SECONDS = 5.0
PREFIX = "flyball_benchmark_"
_CHUNK = 15


def measure_mongo(url: str, *, documents: int = DOCUMENTS) -> MongoSpeed:
    """Return the speed of the server at a URL. Raise BenchmarkFailed if none answers within a second."""
    try:
        import pymongo
        import pymongo.errors
    except ImportError:
        raise BenchmarkFailed("pymongo is not installed: pip install 'flyball-fleet[collector]'") from None
    server = shown_server(url)
    milliseconds = int(CONNECT_SECONDS * 1000)
    try:
        client: Any = pymongo.MongoClient(
            url, serverSelectionTimeoutMS=milliseconds, connectTimeoutMS=milliseconds, appname="flyball"
        )
    except (pymongo.errors.PyMongoError, ValueError) as error:
        raise BenchmarkFailed(f"{server}: {_one_line(error)}") from None
    with client:
        version = _version(client, server, pymongo.errors.PyMongoError)
        name = f"{PREFIX}{os.getpid()}_{secrets.token_hex(4)}"
        try:
            with pymongo.timeout(OPERATION_SECONDS):
                return _measured(client[name].patterns, documents, server, version)
        except pymongo.errors.PyMongoError as error:
            raise BenchmarkFailed(f"{server}: {_one_line(error)}") from None
        finally:
            _drop(client, name, pymongo)


def shown_server(url: str) -> str:
    """Return the hosts of a URL, without user name and password."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or "the URL of MongoDB"
    except ValueError:
        return "the URL of MongoDB"


def pattern_documents(first: int, count: int) -> list[dict[str, object]]:
    """Return documents such as a hierarchical learner stores for its patterns."""
    return [
        {
            "_id": f"{number:040x}",
            "sequence": [f"token{(number + place) % 5_000}" for place in range(_CHUNK)],
            "frequency": 1,
            "metadata": {"level": 0},
        }
        for number in range(first, first + count)
    ]


def _measured(collection: Any, documents: int, server: str, version: str | None) -> MongoSpeed:
    many = pattern_documents(0, documents)
    started = time.perf_counter()
    collection.insert_many(many, ordered=False)
    inserts = documents / (time.perf_counter() - started)
    more = pattern_documents(documents, documents)
    insert_ms = _mean_ms(collection.insert_one, more)
    keys = [{"_id": each["_id"]} for each in many]
    query_ms = _mean_ms(collection.find_one, keys[::-1])
    return MongoSpeed(
        server=server,
        version=version,
        documents=documents,
        inserts_per_second=inserts,
        single_inserts_per_second=1e3 / insert_ms,
        queries_per_second=1e3 / query_ms,
        insert_latency_ms=insert_ms,
        query_latency_ms=query_ms,
    )


def _mean_ms(operate: Callable[[Any], object], items: Sequence[Any]) -> float:
    """Return the mean milliseconds of operations one after the other, within the time limit."""
    started = time.perf_counter()
    count = 0
    for item in items:
        operate(item)
        count += 1
        if time.perf_counter() - started > SINGLE_SECONDS:
            break
    return 1e3 * (time.perf_counter() - started) / count


def _version(client: Any, server: str, failure: type[Exception]) -> str | None:
    try:
        return str(client.server_info().get("version") or "") or None
    except failure as error:
        raise BenchmarkFailed(
            f"no MongoDB answers at {server} within {CONNECT_SECONDS:g} s ({_one_line(error)}); "
            "start one, or set FLYBALL_MONGODB to its URL"
        ) from None


def _drop(client: Any, name: str, pymongo: Any) -> None:
    """Drop the database, also after an error or Ctrl-C."""
    try:
        with pymongo.timeout(CONNECT_SECONDS):
            client.drop_database(name)
    except pymongo.errors.PyMongoError:
        return  # the server is gone, and an error that was raised before explains it


def _one_line(error: Exception) -> str:
    """Return the beginning of an error; pymongo appends the state of all servers."""
    return str(error).split(", Timeout:")[0].split(" (configured timeouts")[0].splitlines()[0][:200]
