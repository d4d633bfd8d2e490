"""Round trips and downloads, against servers of this test."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from flyball.host.benchmarks import network_benchmark
from flyball.host.benchmarks.benchmark_targets import DEFAULT_MONGODB, DEFAULT_SERVICE, BenchmarkTargets
from flyball.host.benchmarks.network_benchmark import measure_network
from tests.client.host.benchmarks.test_mongo_benchmark import free_port

BODY = b"x" * 3_000_000


class Files(http.server.BaseHTTPRequestHandler):
    """Answers each path; /large with megabytes, /broken with an error, /empty with nothing."""

    seen: list[str]

    def do_GET(self) -> None:
        """Send the answer."""
        self.seen.append(self.path)
        status = 500 if self.path == "/broken" else 200
        body = BODY if self.path == "/large" else b"" if self.path == "/empty" else b"ok"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def served() -> Iterator[tuple[str, list[str]]]:
    """Serve on a free port; yield the URL and the paths that were asked for."""
    seen: list[str] = []
    kind = type("Handler", (Files,), {"seen": seen})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
        server.shutdown()


def test_round_trips_to_localhost_and_a_service_are_measured() -> None:
    """The service gets six requests and no more."""
    reasons: dict[str, str] = {}
    with served() as (url, seen):
        found = measure_network(f"{url}/health", None, reasons)
    assert found.localhost_ms is not None
    assert 0 < found.localhost_ms < 1000
    assert found.service == f"{url}/health"
    assert found.service_ms is not None
    assert found.service_ms > found.localhost_ms / 10
    assert 2 <= len(seen) <= network_benchmark.SERVICE_TRIPS + 1
    assert "no URL was given" in reasons["benchmarks.network.download_mb_per_second"]


def test_a_download_has_its_rate_and_its_bytes() -> None:
    """A file that ends before the limits is downloaded whole."""
    reasons: dict[str, str] = {}
    with served() as (url, _):
        found = measure_network(f"{url}/health", f"{url}/large", reasons)
    assert found.download_bytes == len(BODY)
    assert found.download_mb_per_second is not None
    assert found.download_mb_per_second > 1
    assert reasons == {}


def test_a_download_ends_at_its_limit_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However large the file is."""
    monkeypatch.setattr(network_benchmark, "DOWNLOAD_BYTES", 500_000)
    with served() as (url, _):
        found = measure_network(f"{url}/health", f"{url}/large", {})
    assert found.download_bytes is not None
    assert 500_000 <= found.download_bytes <= 500_000 + 2**18


def test_a_service_that_is_not_there_has_its_reason_and_costs_nothing_else() -> None:
    """Localhost is measured nevertheless."""
    reasons: dict[str, str] = {}
    place = f"http://127.0.0.1:{free_port()}/healthz"
    found = measure_network(place, None, reasons)
    assert found.service_ms is None
    assert place in reasons["benchmarks.network.service_ms"]
    assert "refused" in reasons["benchmarks.network.service_ms"]
    assert found.localhost_ms is not None


@pytest.mark.parametrize(
    ("service", "download", "path", "reason"),
    [
        ("no address", None, "service_ms", "expected host:port"),
        ("{url}/broken", None, "service_ms", "HTTP 500"),
        ("{url}/x", "{url}/broken", "download_mb_per_second", "Internal Server Error"),
        ("{url}/x", "{url}/empty", "download_mb_per_second", "sent nothing"),
        ("{url}/x", "file:///etc/hostname", "download_mb_per_second", "expected host:port, http"),
        ("{url}/x", "127.0.0.1:80", "download_mb_per_second", "expected http"),
    ],
)
def test_wrong_addresses_and_answers_are_reasons(service: str, download: str | None, path: str, reason: str) -> None:
    """A file of this machine is not a download, and an error page is not an answer."""
    reasons: dict[str, str] = {}
    with served() as (url, _):
        measure_network(service.format(url=url), download.format(url=url) if download else None, reasons)
    assert reason in reasons[f"benchmarks.network.{path}"]


def test_only_this_machine_is_contacted_unless_another_one_is_named() -> None:
    """Without a choice and without a setting."""
    targets = BenchmarkTargets.chosen(None, None, None, {})
    assert (targets.mongodb_url, targets.service_url, targets.download_url) == (DEFAULT_MONGODB, DEFAULT_SERVICE, None)
    assert all("127.0.0.1" in url for url in (DEFAULT_MONGODB, DEFAULT_SERVICE))
    chosen = BenchmarkTargets.chosen(None, "http://a/b", None, {"FLYBALL_MONGODB": "mongodb://db"})
    assert (chosen.mongodb_url, chosen.service_url) == ("mongodb://db", "http://a/b")
    assert BenchmarkTargets.chosen("mongodb://x", None, None, {"FLYBALL_MONGODB": "y"}).mongodb_url == "mongodb://x"
