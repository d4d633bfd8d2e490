"""How much of the time input was waited for while GPUs idled."""

import numpy as np
import pytest

from flyball_collector.advice.idle_waits import LOOKS, IdleWaits
from flyball_collector.advice.rank_facts import Membership
from flyball_collector.engine.testing.hosts import Stage
from flyball_proto.v1 import telemetry_pb2 as pb


def train(on: Stage, busy: float, wait: float, seconds: int = 20) -> None:
    """One host waits for its input, another one says nothing of it."""
    on.set("gpu_utilization_ratio", busy, gpu="GPU-0")
    on.host("b")
    for _ in range(seconds):
        now = int(on.now)
        on.report(pb.StepReport(run="r", step=now, steps=1, step_seconds=1.0, data_wait_seconds=wait))
        on.report(pb.StepReport(run="s", step=now, steps=1, step_seconds=1.0), host="b")
        on.step()


def look(on: Stage, waits: IdleWaits, *, matters: bool) -> list[float]:
    for _ in waits.look(on.view, lambda: Membership(on.view.ranks.keys), np.full(len(on.view.hosts), matters)):
        pass
    found: list[float] = waits.shares(on.view).tolist()
    return found


def test_the_smaller_of_waiting_and_idling_counts() -> None:
    """A GPU that idles a fifth of the time cannot lose more; without GPUs or reports nothing is known."""
    on, waits = Stage(), IdleWaits()
    train(on, busy=0.8, wait=0.4)
    assert look(on, waits, matters=True) == [pytest.approx(0.2), pytest.approx(np.nan, nan_ok=True)]
    train(on, busy=0.2, wait=0.4)
    assert look(on, IdleWaits(), matters=True)[0] == pytest.approx(0.4)


def test_looks_are_averaged_as_long_as_something_stands() -> None:
    """The latest six; what was before a condition stood says nothing about it."""
    on, waits = Stage(), IdleWaits()
    train(on, busy=0.9, wait=0.4)
    look(on, waits, matters=False)
    train(on, busy=0.5, wait=0.4)
    assert look(on, waits, matters=False)[0] == pytest.approx(0.4)
    train(on, busy=0.9, wait=0.4)
    assert look(on, waits, matters=True)[0] == pytest.approx(0.25)
    for _ in range(LOOKS):
        found = look(on, waits, matters=True)
    assert found[0] == pytest.approx(0.1)


def test_means_follow_hosts_that_come() -> None:
    """A host that joins moves others; each keeps its own."""
    on, waits = Stage(), IdleWaits()
    train(on, busy=0.7, wait=0.4)
    look(on, waits, matters=True)
    on.host("0-first")
    on.step(2)
    assert waits.shares(on.view)[1] == pytest.approx(0.3)


def test_hosts_are_looked_at_slice_by_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each finds its own ranks in its slice."""
    monkeypatch.setattr("flyball_collector.advice.idle_waits.HOSTS_A_SLICE", 1)
    on, waits = Stage(), IdleWaits()
    on.host("0-first")
    train(on, busy=0.8, wait=0.4)
    unknown = pytest.approx(np.nan, nan_ok=True)
    assert look(on, waits, matters=True) == [unknown, pytest.approx(0.2), unknown]
