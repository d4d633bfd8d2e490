"""Tests of complete training runs: overhead, failures, energy and cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.catalogue.machines import machine
from flyball_planner.interval import Interval
from flyball_planner.timing.training_run import Habits, cost_dollars, device_watts, whole_run

STEP = Interval(0.9, 1.0, 1.2)
NODE = machine("H100 SXM", 8)
CLUSTER = machine("H100 SXM", 16_384, network="3200 Gbps")


def test_a_run_is_longer_than_its_steps() -> None:
    """Startup, evaluation and failures add to the time of the steps; goodput is the share of the steps."""
    found = whole_run(STEP, 10_000, NODE, mfu=0.4)
    assert found.seconds.middle > 10_000
    assert found.goodput == pytest.approx(10_000 / found.seconds.middle)
    assert found.seconds.low < found.seconds.middle < found.seconds.high


def test_one_machine_starts_sooner_than_a_cluster() -> None:
    """A run of seconds on one machine is estimated below one minute."""
    alone = whole_run(Interval.exactly(0.001), 1000, machine("RTX 4090"), 0.1)
    spread = whole_run(Interval.exactly(0.001), 1000, machine("RTX 4090", 64), 0.1)
    assert alone.seconds.middle < 60
    assert spread.seconds.middle > 240


def test_a_large_cluster_fails_as_often_as_reported() -> None:
    """54 days on 16,384 devices give about 419 interruptions, as reported for Llama 3."""
    habits = Habits(evaluation_share=0.0, checkpoint_bytes=5e12)
    found = whole_run(Interval.exactly(1.0), 54 * 86_400, CLUSTER, 0.4, habits)
    assert found.failures == pytest.approx(419, rel=0.1)
    assert 0.8 < found.goodput * found.overrun < 0.97


def test_the_checkpoint_interval_follows_young() -> None:
    """The interval shrinks with the number of devices and grows with the time of a checkpoint."""
    habits = Habits(checkpoint_bytes=1e12)
    one, many = (whole_run(STEP, 1e7, each, 0.4, habits).checkpoint_seconds_between for each in (NODE, CLUSTER))
    slow = whole_run(STEP, 1e7, NODE, 0.4, replace(habits, checkpoint_bytes_per_second=1e8)).checkpoint_seconds_between
    assert many < one < slow


def test_asynchronous_checkpoints_cost_less() -> None:
    """An asynchronous checkpoint stops the training only for the copy to the host."""
    habits = Habits(checkpoint_bytes=1e12, checkpoint_seconds_between=600)
    waiting = whole_run(STEP, 1e5, NODE, 0.4, habits)
    asynchronous = whole_run(STEP, 1e5, NODE, 0.4, replace(habits, asynchronous=True))
    assert asynchronous.checkpoint_seconds < waiting.checkpoint_seconds / 10
    assert asynchronous.seconds.middle < waiting.seconds.middle


def test_busy_devices_draw_their_limit_and_idle_ones_a_quarter() -> None:
    """Power rises with utilisation from a quarter of the limit to the limit."""
    assert device_watts(NODE.device, 0.6) == pytest.approx(700)
    assert device_watts(NODE.device, 0.0) == pytest.approx(175)


def test_energy_and_cost_follow_from_time() -> None:
    """Energy includes the host's share and overhead; the cost is price × devices × hours."""
    found = whole_run(Interval.exactly(3600.0), 1, NODE, 0.6, Habits(evaluation_share=0.0))
    assert found.energy_joules.middle == pytest.approx(8 * 700 * 1.4 * 1.2 * found.seconds.middle)
    assert found.energy_joules.low < found.energy_joules.middle < found.energy_joules.high
    assert cost_dollars(Interval.exactly(7200.0), 3.0, 8).middle == pytest.approx(48.0)
    assert found.device_hours.middle == pytest.approx(8 * found.seconds.middle / 3600)


@given(st.floats(0.01, 1e3), st.floats(1, 1e6), st.sampled_from([8, 64, 1024]))
def test_goodput_is_a_share(step: float, steps: float, devices: int) -> None:
    """Goodput is between 0 and 1, and more steps take longer."""
    cluster = machine("H100 SXM", devices, network="3200 Gbps")
    found = whole_run(Interval.exactly(step), steps, cluster, 0.4)
    assert 0 < found.goodput < 1
    assert whole_run(Interval.exactly(step), 2 * steps, cluster, 0.4).seconds.middle > found.seconds.middle
