"""Checkpoints: their interval, and one before trouble."""

import pytest

from flyball_collector.diagnosis.kinds import Severity
from tests.collector.adjustments.rules.runs import NOW, SECOND, adjustment, event, find, ranks, situation, to_of, value


def test_the_interval_follows_from_the_measured_cost() -> None:
    """Checkpoints of 5 s every 50 s lose a tenth of the time; once an hour is enough without failures."""
    change = find("checkpoint_interval", [value("checkpoint_steps")], situation(checkpoint_seconds=5.0, hours=1.0))
    assert change is not None
    assert change.to == 5000
    assert change.predicted["interval_seconds"] == 2500.0
    assert change.predicted["lost_share"] < 0.01


@pytest.mark.parametrize(
    ("total", "left", "to"), [(None, None, 5000), (4000, 3900, 300), (40_000, 39_000, 3000), (40_000, 700, 700)]
)
def test_an_expensive_checkpoint_is_still_written_some_times(
    total: int | None, left: int | None, to: int | None
) -> None:
    """The interval is neither longer than a tenth of the run nor than what is left of it, if that is known."""
    found = situation(checkpoint_seconds=5.0, hours=1.0, total_steps=total, steps_left=left)
    assert to_of(find("checkpoint_interval", [value("checkpoint_steps")], found)) == to


def test_a_fragile_run_writes_checkpoints_more_often() -> None:
    """After five restarts in ten hours the interval is a small part of the time between two of them."""
    fragile = situation(checkpoint_seconds=5.0, failures=5, hours=10.0)
    change = find("checkpoint_interval", [value("checkpoint_steps", 5000)], fragile)
    assert change is not None
    assert change.to == 1000
    assert change.gain is not None
    assert change.gain[0] < 1.0


def test_the_cost_that_the_client_measured_comes_first() -> None:
    """A fact of the value replaces the figure of the step sections; without any cost nothing is proposed."""
    cheap = [value("checkpoint_steps", facts={"cost_seconds": "0.001"})]
    assert find("checkpoint_interval", cheap, situation(checkpoint_seconds=5.0, hours=1.0)) is None
    assert find("checkpoint_interval", [value("checkpoint_steps")], situation()) is None


def test_the_slowest_rank_counts() -> None:
    """Ranks measure different costs, and all of them wait for the one that writes longest."""
    run = ranks(*([value("checkpoint_steps", facts={"cost_seconds": cost})] for cost in ("0.01", "5.0")))
    change = find("checkpoint_interval", run, situation(hours=1.0))
    assert change is not None
    assert "for 5 s" in change.because


def test_a_saving_below_one_per_cent_is_not_worth_rarer_checkpoints() -> None:
    """Checkpoints of 0.2 s every 50 s stay as they are; those of 2 s are made rarer, and the reason has both shares."""
    run = [value("checkpoint_steps", 100)]
    assert find("checkpoint_interval", run, situation(checkpoint_seconds=0.2, hours=1.0)) is None
    change = find("checkpoint_interval", run, situation(checkpoint_seconds=2.0, hours=1.0))
    assert change is not None
    assert "now 4 % of the time" in change.because or "now 3.8 % of the time" in change.because
    assert " 0 %" not in change.because


@pytest.mark.parametrize("kind", ["memory_exhaustion", "thermal_slowdown", "power_brake", "gpu_ecc", "gpu_lost"])
def test_foreseen_trouble_leads_to_one_checkpoint(kind: str) -> None:
    """A condition that may end the run is answered by a checkpoint at the next step, once."""
    now, trouble = [value("checkpoint_now")], event(kind)
    change = find("checkpoint_before_trouble", now, situation(trouble))
    assert change is not None
    assert change.to is True
    assert trouble.because in change.because
    written = [adjustment("checkpoint_now", False, True, ago=-1, protects=True)]
    assert find("checkpoint_before_trouble", now, situation(trouble), written) is None


def test_several_conditions_of_one_trouble_need_one_checkpoint() -> None:
    """New conditions within ten minutes of a checkpoint do not ask for another; later ones do."""
    written = [adjustment("checkpoint_now", False, True, ago=300, protects=True)]
    now, trouble = [value("checkpoint_now")], situation(event("gpu_ecc"))
    assert find("checkpoint_before_trouble", now, trouble, written) is None
    earlier = [adjustment("checkpoint_now", False, True, ago=700, protects=True)]
    assert to_of(find("checkpoint_before_trouble", now, trouble, earlier)) is True
    old = situation(event("gpu_ecc", raised_ns=NOW - 800 * SECOND))
    assert find("checkpoint_before_trouble", now, old, earlier) is None


def test_an_expensive_checkpoint_is_asked_for_less_often() -> None:
    """After a checkpoint of 30 s, the next one before trouble is 25 minutes later at the earliest."""
    now, trouble = [value("checkpoint_now")], situation(event("gpu_ecc"), checkpoint_seconds=30.0)
    recent = [adjustment("checkpoint_now", False, True, ago=1400, protects=True)]
    assert find("checkpoint_before_trouble", now, trouble, recent) is None
    earlier = [adjustment("checkpoint_now", False, True, ago=1600, protects=True)]
    assert to_of(find("checkpoint_before_trouble", now, trouble, earlier)) is True


@pytest.mark.parametrize(("kind", "severity", "to"), [
    ("gpu_xid", Severity.INFO, None), ("thermal_slowdown", Severity.WARNING, None),
    ("memory_exhaustion", Severity.WARNING, None), ("power_brake", Severity.WARNING, True),
])  # fmt: skip
def test_mild_conditions_do_not_count(kind: str, severity: Severity, to: bool | None) -> None:
    """Heat that the driver handles and memory that lasts for long write no checkpoint."""
    mild = situation(event(kind, severity=severity))
    assert to_of(find("checkpoint_before_trouble", [value("checkpoint_now")], mild)) == to
