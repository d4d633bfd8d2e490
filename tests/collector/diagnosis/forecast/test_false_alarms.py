"""A small version of the simulation that counts false alarms."""

import pytest

from tests.benchmarks.false_alarms import KINDS, alerts_of_days, alerts_of_starts, upper_bound


def test_quiet_hosts_raise_no_alerts() -> None:
    """There is no alert in 60 simulated host-days and 400 job starts."""
    assert not alerts_of_days(hosts=60, days=1, seed=11)
    assert not alerts_of_starts(hosts=400, rounds=1, seed=12)


@pytest.mark.parametrize(("alerts", "bound"), [(0, 3.0), (1, 4.74), (3, 7.75), (10, 16.96)])
def test_the_upper_bound_is_that_of_poisson(alerts: int, bound: float) -> None:
    """The one-sided 95 % bounds equal those of the tables."""
    assert upper_bound(alerts) == pytest.approx(bound, abs=0.01)


def test_every_risk_is_counted() -> None:
    """The simulation counts all kinds that forecasts can report."""
    assert len(KINDS) == len(set(KINDS)) == 6
