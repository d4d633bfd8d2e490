"""Tests that the time to connect to a target and its time to answer separate a slow network from a slow service."""

from collections.abc import Mapping

import pytest

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.scores.network import MIXED_MOST
from flyball_collector.engine.player import Key, Player, RecordedSample, recording
from flyball_proto.v1 import telemetry_pb2 as pb

SERVICE = "http://store/health"
KINDS = frozenset({"bottleneck_network", "bottleneck_service"})


def host(latency: Mapping[str, float]) -> dict[Key, float]:
    """Return the readings of a quiet host with the parts of its round trip to the service."""
    readings: dict[Key, float] = {("cpu_busy_ratio", ()): 0.2, ("cpu_threads_online", ()): 8.0}
    return readings | {(f"latency_{part}", (("target", SERVICE),)): value for part, value in latency.items()}


def steps(*, data: float = 0.0, service: float | None = None) -> list[pb.StepReport]:
    """Return the report of a second with these shares of time."""
    sections = {"data": data, "forward": 1 - data - (service or 0)} | ({} if service is None else {"service": service})
    return [pb.StepReport(run="run", steps=5, step_seconds=1.0, data_wait_seconds=data, section_seconds=sections)]


def active(
    before: Mapping[str, float],
    then: Mapping[str, float],
    usual: list[pb.StepReport] | None = None,
    waiting: list[pb.StepReport] | None = None,
) -> dict[str, Event]:
    """Return the active conditions of network and service by their kind, one minute after the readings changed."""
    usual, waiting = usual or steps(data=0.02), waiting or steps(data=0.5)
    samples = [
        RecordedSample(n, "host", host(before if n < 40 else then), usual if n < 40 else waiting) for n in range(100)
    ]
    player = Player(recording(samples, ()))
    raised = set()
    for _ in player.play():
        raised |= {each.kind.name for each in player.diagnosis.conditions.active()} & KINDS
    conditions = player.diagnosis.conditions
    found = {each.kind.name: conditions.current(each) for each in conditions.active() if each.kind.name in KINDS}
    assert raised == set(found), "a condition of the wrong cause was raised for a while"
    return found


QUICK = {"seconds": 0.0015, "connect_seconds": 0.0005, "answer_seconds": 0.0012}
SLOW_ANSWER = {"seconds": 0.061, "connect_seconds": 0.0005, "answer_seconds": 0.06}
SLOW_WAY = {"seconds": 0.045, "connect_seconds": 0.04, "answer_seconds": 0.042}


def test_a_slow_answer_on_a_quick_connection_is_the_service() -> None:
    """Loaders that wait for a slow store wait for a service, and the network is not reported, not for a second."""
    [(kind, event)] = active(QUICK, SLOW_ANSWER).items()
    assert kind == "bottleneck_service"
    assert "takes 59.5 ms to answer" in event.because
    assert event.evidence["answer_seconds"] == pytest.approx(0.0595)


def test_a_delay_of_connection_and_answer_is_the_network() -> None:
    """Both share the way; the service's own work is as quick as before."""
    [(kind, event)] = active(QUICK, SLOW_WAY).items()
    assert kind == "bottleneck_network"
    assert "a round trip takes 40 ms" in event.because


def test_a_slow_answer_does_not_suppress_the_calls_of_a_training() -> None:
    """A training that reports its calls to the service waits for the service, as before without a target."""
    found = active(QUICK, SLOW_ANSWER, steps(service=0.05), steps(service=0.6))
    assert set(found) == {"bottleneck_service"}
    assert "calls to services take 60 % of the step time" in found["bottleneck_service"].because
    assert found["bottleneck_service"].confidence > 0.9


def test_a_slow_service_that_nothing_waits_for_is_not_reported() -> None:
    """The steps compute: a slow answer costs them nothing."""
    assert active(QUICK, SLOW_ANSWER, waiting=steps(data=0.02)) == {}


def test_an_always_slow_service_without_growth_needs_more_than_an_answer() -> None:
    """Some answers take 10 ms at all times; waiting for input then has some other cause more probably."""
    steady = {"seconds": 0.011, "connect_seconds": 0.0005, "answer_seconds": 0.0105}
    assert active(steady, steady) == {}


def test_old_agents_leave_it_open() -> None:
    """Only the whole request is known: network is reported, with a low confidence and the reason for it."""
    [(kind, event)] = active({"seconds": 0.0015}, {"seconds": 0.06}).items()
    assert (kind, event.confidence) == ("bottleneck_network", MIXED_MOST)
    assert "a request to a latency target takes 60 ms" in event.because
    assert "whether the network or the service is slow" in event.because


def test_old_agents_do_not_suppress_the_service() -> None:
    """The calls of the training are reported, without certainty that it is the service."""
    found = active({"seconds": 0.0015}, {"seconds": 0.06}, steps(service=0.05), steps(service=0.6))
    assert "bottleneck_service" in found
    assert found["bottleneck_service"].confidence == MIXED_MOST
    assert "whether the network or the service is slow" in found["bottleneck_service"].because


def test_a_tcp_target_is_the_network_for_certain() -> None:
    """Host and port measure the connection alone."""
    key: Key = ("latency_seconds", (("target", "store:9000"),))
    quiet = host({})
    samples = [
        RecordedSample(n, "host", quiet | {key: 0.0005 if n < 40 else 0.04}, steps(data=0.02 if n < 40 else 0.5))
        for n in range(100)
    ]
    player = Player(recording(samples, ()))
    for _ in player.play():
        pass
    [event] = [
        player.diagnosis.conditions.current(e) for e in player.diagnosis.conditions.active() if e.kind.name in KINDS
    ]
    assert (event.kind.name, event.confidence > MIXED_MOST) == ("bottleneck_network", True)
