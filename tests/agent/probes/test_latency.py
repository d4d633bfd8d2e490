"""Tests of the latency probe."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from flyball_agent.probes.latency import TIMED_OUT, LatencyProbe, Prober, reason_of
from flyball_agent.probes.probe import ProbeSample
from flyball_agent.probes.round_trip import RequestFailed, RoundTrip, parse_target
from flyball_agent.probes.testing import broken_rules, values_by_name
from flyball_proto.unavailable_reading import Reason


@contextmanager
def probing(*targets: str) -> Iterator[LatencyProbe]:
    """Yield a probe whose threads end with the test."""
    probe = LatencyProbe([parse_target(target) for target in targets])
    yield probe
    probe.close()


def read_until(probe: LatencyProbe, done: Callable[[ProbeSample], bool]) -> ProbeSample:
    """Read until a sample meets a condition."""
    deadline = time.monotonic() + 60
    while not done(sample := probe.read()):
        assert time.monotonic() < deadline, sample
        time.sleep(0.005)
    return sample


def test_loopback_is_known_at_once() -> None:
    """The round trip over loopback is known at the first reading."""
    with probing() as probe:
        sample = probe.read()
    assert 0 < (values_by_name(sample)["latency_seconds", "localhost"] or 0) < 2
    assert not sample.unavailable


def test_a_target_is_known_after_its_first_round_trip() -> None:
    """The value is first unknown with a reason, then known, and the columns stay."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        label = f"127.0.0.1:{server.getsockname()[1]}"
        with probing(label) as probe:
            first = probe.read()
            assert not list(broken_rules(first))
            last = read_until(probe, lambda sample: not sample.unavailable)
    assert 0 < (values_by_name(last)["latency_seconds", label] or 0) < 5
    assert last.columns is first.columns


def test_a_failure_has_a_reason_and_is_counted() -> None:
    """After a refused connection the latency is unknown, the count grows, and other targets are known."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        label = f"127.0.0.1:{server.getsockname()[1]}"
    with probing(label) as probe:
        sample = read_until(probe, lambda s: (values_by_name(s)["latency_failures_total", label] or 0) >= 2)
    assert values_by_name(sample)["latency_seconds", label] is None
    assert values_by_name(sample)["latency_seconds", "localhost"] is not None
    assert [(s.resource, s.detail) for s in sample.unavailable] == [(label, "Connection refused")]
    assert not list(broken_rules(sample))


def test_a_slow_target_does_not_delay_the_tick() -> None:
    """A service that never responds does not delay a tick."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with probing(f"http://127.0.0.1:{server.getsockname()[1]}/") as probe:
            started = time.monotonic()
            samples = [probe.read() for _ in range(20)]
            assert time.monotonic() - started < 20
        assert {each.reason for each in samples[-1].unavailable} == {Reason.UNKNOWN}


class Hanging:
    """A round trip that takes 0.5 s the first time and then hangs until it is released."""

    connect_seconds: float | None = None

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self._trips = 0

    def measure(self) -> RoundTrip:
        self._trips += 1
        if self._trips > 1:
            self.let_go.wait(60)
        return RoundTrip(0.5)


def test_a_round_trip_that_hangs_does_not_repeat_the_last_one() -> None:
    """A name lookup can hang for minutes; the old value is used no longer than the time limit."""
    trip = Hanging()
    prober = Prober("x", trip, timeout_seconds=0.05)
    deadline = time.monotonic() + 60

    def wait_for(wanted: RoundTrip | None, reason: Reason | None) -> None:
        while (answer := prober.result())[0] != wanted or (reason is not None and answer[1][0] is not reason):
            assert time.monotonic() < deadline, answer
            prober.request()
            time.sleep(0.005)

    wait_for(RoundTrip(0.5), None)
    wait_for(None, Reason.TIMED_OUT)
    trip.let_go.set()
    wait_for(RoundTrip(0.5), None)
    prober.stop()


def test_an_http_target_that_hangs_shows_that_it_could_be_reached() -> None:
    """Connecting and answering are metrics of HTTP targets only; the first is known although the second is late."""

    class Connected(Hanging):
        connect_seconds = 0.002

    trip = Connected()
    trip.let_go.clear()
    prober = Prober("http://x/", trip, timeout_seconds=0.05, is_http=True)
    deadline = time.monotonic() + 60
    while prober.result()[1] != TIMED_OUT or prober.result()[0] is not None:
        assert time.monotonic() < deadline
        prober.request()
        time.sleep(0.005)
    assert prober.connect_seconds == 0.002
    trip.let_go.set()
    prober.stop()


def test_http_targets_have_two_more_metrics() -> None:
    """A service on loopback answers; a target with host and port has no answer to wait for."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        thread = threading.Thread(target=_answer_all, args=(server,), daemon=True)
        thread.start()
        with probing(url, "127.0.0.1:9") as probe:
            first = probe.read()
            assert not list(broken_rules(first))
            sample = read_until(probe, lambda s: values_by_name(s)["latency_answer_seconds", url] is not None)
    values = values_by_name(sample)
    assert 0 < (values["latency_connect_seconds", url] or 0) < 5
    assert 0 < (values["latency_answer_seconds", url] or 0) <= (values["latency_seconds", url] or 0)
    assert {key for key in values if key[0] != "latency_seconds" and "failures" not in key[0]} == {
        ("latency_connect_seconds", url),
        ("latency_answer_seconds", url),
    }


def _answer_all(server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def test_two_targets_with_one_label_are_one() -> None:
    """Two targets with the same label give one column."""
    with probing("http://a.invalid/x?1", "http://a.invalid/x?2") as probe:
        assert not list(broken_rules(probe.read()))


@pytest.mark.parametrize(
    ("error", "reason", "detail"),
    [
        (TimeoutError("timed out"), Reason.TIMED_OUT, "no response within 5 s"),
        (PermissionError(1, "Operation not permitted"), Reason.DENIED, "blocked by a firewall"),
        (socket.gaierror(-2, "Name or service not known"), Reason.FAILED, "Name or service not known"),
        (RequestFailed("HTTP 503"), Reason.FAILED, "HTTP 503"),
        (ValueError(), Reason.FAILED, "ValueError"),
    ],
)
def test_errors_become_reasons(error: Exception, reason: Reason, detail: str) -> None:
    """Each error has a reason, and its text does not change."""
    assert reason_of(error)[0] is reason
    assert reason_of(error)[1].startswith(detail)
