"""Round trips to a service."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from flyball.profiling.api_latency import ApiLatency

SLOW_SECONDS = 0.05


class _Slow(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        time.sleep(SLOW_SECONDS)
        self.send_response(500 if self.path == "/broken" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    """A service that takes 50 ms to answer."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Slow)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def measured(api: ApiLatency, done: Callable[[], bool]) -> None:
    """Ask for round trips until a condition holds, then end the thread."""
    api.start()
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        api.request()
        time.sleep(0.005)
    api.stop(30)
    assert not any(thread.name == "flyball-profile-api" for thread in threading.enumerate())


def test_a_request_takes_until_its_answer(server: str) -> None:
    """Each result is returned once."""
    api, found = ApiLatency(f"http://{server}/health"), list[float]()

    def one() -> bool:
        seconds = api.result()
        found.extend([seconds] if seconds is not None else [])
        return bool(found)

    measured(api, one)
    assert found[0] >= SLOW_SECONDS
    api.result()
    assert api.result() is None
    assert api.failures == 0


def test_host_and_port_measure_the_connection_only(server: str) -> None:
    """It does not wait for an answer that takes 50 ms."""
    api, found = ApiLatency(server), list[float]()

    def several() -> bool:
        seconds = api.result()
        found.extend([seconds] if seconds is not None else [])
        return len(found) >= 5

    measured(api, several)
    assert min(found) < SLOW_SECONDS


def test_a_failure_has_a_reason(server: str) -> None:
    """A refused connection, and an error of the service."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    refused = ApiLatency(f"127.0.0.1:{port}")
    measured(refused, lambda: refused.failures >= 1)
    assert refused.reason == "Connection refused"
    broken = ApiLatency(f"http://{server}/broken")
    measured(broken, lambda: broken.failures >= 1)
    assert broken.reason == "HTTP 500"
    assert broken.result() is None


def test_a_wrong_address_is_an_error_at_once() -> None:
    """The message has the address and what was expected."""
    with pytest.raises(ValueError, match=r"'ftp://x': expected host:port, http://"):
        ApiLatency("ftp://x")
