"""MongoDB: inserts and queries of 1,000 documents, in a database of its own that is dropped at the end."""

import os
import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any

from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.hardware_parts import MongoSpeed

DOCUMENTS = 1_000
SINGLE_SECONDS = 1.5
"""Time limit of the single inserts, and of the queries. Over a slow network fewer than 1,000 are made."""

CONNECT_SECONDS = 1.0
OPERATION_SECONDS = 5.0
AUTHENTICATION_FAILED, UNAUTHORIZED = 18, 13
"""Codes of MongoDB's errors (mongodb.com/docs/manual/reference/error-codes)."""

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
    _check_escapes(url)
    milliseconds = int(CONNECT_SECONDS * 1000)
    try:
        client: Any = pymongo.MongoClient(
            url, serverSelectionTimeoutMS=milliseconds, connectTimeoutMS=milliseconds, appname="flyball"
        )
    except (pymongo.errors.PyMongoError, ValueError) as error:
        raise BenchmarkFailed(f"{server}: {_one_line(error)}") from None
    with client:
        version = _version(client, server, url, pymongo.errors.PyMongoError)
        name = f"{PREFIX}{os.getpid()}_{secrets.token_hex(4)}"
        try:
            with pymongo.timeout(OPERATION_SECONDS):
                return _measured(client[name].patterns, documents, server, version)
        except pymongo.errors.PyMongoError as error:
            raise BenchmarkFailed(_refused(error, server) or f"{server}: {_one_line(error)}") from None
        finally:
            _drop(client, name, pymongo)


def shown_server(url: str) -> str:
    """Return the hosts of a URL, without user name and password, even if these are not escaped."""
    rest = url.partition("://")[2]
    before_options = rest.partition("?")[0]
    user_ends = before_options if "@" in before_options else rest
    return re.split(r"[/?#]", user_ends.rpartition("@")[2])[0] or "the URL of MongoDB"


def _check_escapes(url: str) -> None:
    """Refuse a password that ends the part of the hosts: pymongo would take its beginning for a host, and show it."""
    rest = url.partition("://")[2]
    hosts = re.split(r"[/?#]", rest)[0]
    if "@" not in hosts and "@" in rest.partition("?")[0]:
        raise BenchmarkFailed(
            f"{shown_server(url)}: user name and password must be escaped in a URL: write %2F for / and %40 for @"
        )


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


def _version(client: Any, server: str, url: str, failure: type[Exception]) -> str | None:
    try:
        return str(client.server_info().get("version") or "") or None
    except failure as error:
        raise BenchmarkFailed(_refused(error, server) or _no_answer(_one_line(error), server, url)) from None


def _refused(error: Exception, server: str) -> str:
    """Return the reason of a server that answers, but does not let this user work; empty for another error."""
    code = getattr(error, "code", None)
    if code == AUTHENTICATION_FAILED:
        return f"{server} refuses the user ({_one_line(error)}); check name, password and authSource in the URL"
    if code == UNAUTHORIZED:
        return (
            f"{server} does not let this user write ({_one_line(error)}); "
            "use a user with the role readWriteAnyDatabase, or a server for tests"
        )
    return ""


def _no_answer(error: str, server: str, url: str) -> str:
    """Return the reason of a server that does not answer, with what to do."""
    asks_for_tls = re.search(r"[?&](tls|ssl)=true", url) is not None or url.startswith("mongodb+srv:")
    advice = "start one, or set FLYBALL_MONGODB to its URL"
    if "replica set" in error:
        advice = "check replicaSet in the URL"
    elif asks_for_tls and "refused" not in error:
        advice = "check its certificate, and whether it uses TLS as the URL demands"
    elif "connection closed" in error or "reset by peer" in error:
        advice = "if it uses TLS, add tls=true to the URL"
    return f"no MongoDB answers at {server} within {CONNECT_SECONDS:g} s ({error}); {advice}"


def _drop(client: Any, name: str, pymongo: Any) -> None:
    """Drop the database, also after an error or Ctrl-C."""
    try:
        with pymongo.timeout(CONNECT_SECONDS):
            client.drop_database(name)
    except pymongo.errors.PyMongoError:
        return  # the server is gone, and an error that was raised before explains it


def _one_line(error: Exception) -> str:
    """Return the beginning of an error; pymongo appends the whole answer, or the state of all servers."""
    details = getattr(error, "details", None) or {}
    parts = [*details.get("writeErrors", ()), *details.get("writeConcernErrors", ())]  # of several documents
    text = str(parts[0].get("errmsg", "")) if parts else str(error)
    return re.split(r", Timeout:| \(configured timeouts|,? full error:", text or str(error))[0].splitlines()[0][:200]
