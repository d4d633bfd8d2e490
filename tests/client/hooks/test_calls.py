"""Requests over HTTP, and saving, in the thread that trains."""

import http.client
import threading
import traceback
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from flyball.hooks import calls
from flyball.hooks.checkpoints import measure_saving
from flyball.hooks.steps import OptimizerSteps
from tests.client.hooks.reports import Reports, last_step, total
from tests.client.hooks.test_steps import Optimizer, finish, step


class Answer(BaseHTTPRequestHandler):
    """Answers each request, or closes the connection."""

    def do_GET(self) -> None:
        if self.path == "/broken":
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """Serve HTTP on a free port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> OptimizerSteps:
    """Measure http.client of this process for a test."""
    found = OptimizerSteps()
    for name in ("send", "getresponse"):
        monkeypatch.setattr(http.client.HTTPConnection, name, getattr(http.client.HTTPConnection, name))
    calls.install(http.client, found)
    return found


def get(port: int, path: str = "/") -> bytes:
    """Send one request with urllib, which is built on http.client as others are."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        content: bytes = answer.read()
    return content


def test_requests_between_steps_are_calls_to_their_service(reports: Reports, steps: OptimizerSteps, port: int) -> None:
    """Number, time and section; those before the first step and of other threads do not count."""
    optimizer = Optimizer()
    get(port)
    step(steps, optimizer)
    for _ in range(3):
        assert get(port) == b"ok"
        assert get(port) == b"ok"
        step(steps, optimizer)
    thread = threading.Thread(target=get, args=(port,))
    thread.start()
    thread.join()
    finish(steps)
    (lines,) = reports.runs()
    (call,) = [call for line in lines for call in line.get("calls", [])]
    assert (call["service"], call["count"], call.get("errors", 0)) == (f"127.0.0.1:{port}", 6, 0)
    assert 0 < call["seconds"] <= total(lines, f"call 127.0.0.1:{port}") < total(lines, "step_seconds")


def test_requests_of_a_loader_are_waiting_for_input(reports: Reports, steps: OptimizerSteps, port: int) -> None:
    """They are counted once, as what the training waits for."""
    step(steps, Optimizer())
    steps.inside = True
    get(port)
    steps.inside = False
    finish(steps)
    assert not any(line.get("calls") for line in reports.runs()[0])


def test_a_failed_request_is_an_error_with_its_usual_traceback(
    reports: Reports, steps: OptimizerSteps, port: int
) -> None:
    """The frames of the hooks are left out."""
    step(steps, Optimizer())
    with pytest.raises(http.client.RemoteDisconnected) as caught:
        get(port, "/broken")
    step(steps, Optimizer())
    finish(steps)
    assert not [each for each in traceback.extract_tb(caught.value.__traceback__) if "flyball/hooks" in each.filename]
    (call,) = [call for line in reports.runs()[0] for call in line.get("calls", [])]
    assert (call["count"], call["errors"]) == (1, 1)


def test_saving_is_a_checkpoint(reports: Reports) -> None:
    """In the thread that trains; its result and errors pass."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    save = measure_saving(lambda value, fail=False: 1 // (not fail) + value, steps)
    assert save(1) == 2
    step(steps, optimizer)
    assert save(2) == 3
    with pytest.raises(ZeroDivisionError) as caught:
        save(2, fail=True)
    assert [each.name for each in traceback.extract_tb(caught.value.__traceback__)][1:] == ["<lambda>"]
    step(steps, optimizer)
    finish(steps)
    (lines,) = reports.runs()
    assert last_step(lines) == 2
    assert total(lines, "checkpoint") > 0
