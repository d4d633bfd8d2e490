"""The share of time with waits for input while GPUs idled."""

import numpy as np
import pytest

from flyball_collector.advice.idle_waits import MEASUREMENTS, IdleWaits
from flyball_collector.advice.rank_facts import Membership
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_proto.v1 import telemetry_pb2 as pb


def train(fleet: SimulatedFleet, busy: float, wait: float, seconds: int = 20) -> None:
    """Play one host that waits for its input and another that reports nothing about it."""
    fleet.set("gpu_utilization_ratio", busy, gpu="GPU-0")
    fleet.host("b")
    for _ in range(seconds):
        now = int(fleet.now)
        fleet.report(pb.StepReport(run="r", step=now, steps=1, step_seconds=1.0, data_wait_seconds=wait))
        fleet.report(pb.StepReport(run="s", step=now, steps=1, step_seconds=1.0), host="b")
        fleet.step()


def update(fleet: SimulatedFleet, waits: IdleWaits, *, matters: bool) -> list[float]:
    for _ in waits.update(
        fleet.view, lambda: Membership(fleet.view.ranks.keys), np.full(len(fleet.view.hosts), matters)
    ):
        pass
    found: list[float] = waits.shares(fleet.view).tolist()
    return found


def test_the_smaller_of_waiting_and_idling_counts() -> None:
    """A GPU that idles a fifth of the time cannot lose more; without GPUs or reports the share is unknown."""
    fleet, waits = SimulatedFleet(), IdleWaits()
    train(fleet, busy=0.8, wait=0.4)
    assert update(fleet, waits, matters=True) == [pytest.approx(0.2), pytest.approx(np.nan, nan_ok=True)]
    train(fleet, busy=0.2, wait=0.4)
    assert update(fleet, IdleWaits(), matters=True)[0] == pytest.approx(0.4)


def test_measurements_are_averaged_while_a_condition_is_active() -> None:
    """The latest six count; those from before the condition do not."""
    fleet, waits = SimulatedFleet(), IdleWaits()
    train(fleet, busy=0.9, wait=0.4)
    update(fleet, waits, matters=False)
    train(fleet, busy=0.5, wait=0.4)
    assert update(fleet, waits, matters=False)[0] == pytest.approx(0.4)
    train(fleet, busy=0.9, wait=0.4)
    assert update(fleet, waits, matters=True)[0] == pytest.approx(0.25)
    for _ in range(MEASUREMENTS):
        found = update(fleet, waits, matters=True)
    assert found[0] == pytest.approx(0.1)


def test_means_follow_new_hosts() -> None:
    """A new host changes the positions of others; each keeps its values."""
    fleet, waits = SimulatedFleet(), IdleWaits()
    train(fleet, busy=0.7, wait=0.4)
    update(fleet, waits, matters=True)
    fleet.host("0-first")
    fleet.step(2)
    assert waits.shares(fleet.view)[1] == pytest.approx(0.3)


def test_hosts_are_measured_slice_by_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each host has its own ranks in its slice."""
    monkeypatch.setattr("flyball_collector.advice.idle_waits.HOSTS_PER_SLICE", 1)
    fleet, waits = SimulatedFleet(), IdleWaits()
    fleet.host("0-first")
    train(fleet, busy=0.8, wait=0.4)
    unknown = pytest.approx(np.nan, nan_ok=True)
    assert update(fleet, waits, matters=True) == [unknown, pytest.approx(0.2), unknown]
