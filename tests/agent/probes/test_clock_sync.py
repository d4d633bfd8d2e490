"""Tests of the probe of clock synchronisation."""

import contextlib

import pytest

from flyball_agent.probes.clock_sync import ClockStatus, ClockSyncProbe, read_status
from flyball_agent.probes.probe import Denied
from flyball_agent.probes.testing import broken_rules, values_by_name


def test_reports_errors_in_seconds() -> None:
    """The kernel's microseconds become seconds."""
    sample = ClockSyncProbe(lambda: ClockStatus(120, 35_000)).read()
    assert list(sample.values) == [1, 0.00012, 0.035]
    assert not list(broken_rules(sample))


def test_a_clock_without_a_service_is_not_synchronised() -> None:
    """The maximum error grows to 16 s if nothing corrects the clock, and stays below it otherwise."""
    free_running = ClockSyncProbe(lambda: ClockStatus(16_000_000, 16_000_000)).read()
    corrected = ClockSyncProbe(lambda: ClockStatus(5, 15_999_999)).read()
    assert values_by_name(free_running)["clock_synchronized",] == 0
    assert values_by_name(corrected)["clock_synchronized",] == 1


def test_a_negative_error_is_zero() -> None:
    """Some services have set the estimate below zero."""
    assert list(ClockSyncProbe(lambda: ClockStatus(-3, 9)).read().values)[1] == 0


def test_asks_this_kernel() -> None:
    """The structure has the kernel's layout: the errors of this machine are possible ones, or the call is denied."""
    with contextlib.suppress(Denied):  # a container may refuse the call
        status = read_status()
        assert 0 <= status.maximum_error <= 16_000_000
        assert 0 <= status.estimated_error <= 16_000_000


def test_a_refused_call_has_a_remedy() -> None:
    """A probe whose call the sandbox refuses passes the reason on."""

    def refuse() -> ClockStatus:
        raise Denied("adjtimex: blocked", "ask")

    with pytest.raises(Denied, match="blocked"):
        ClockSyncProbe(refuse).read()
