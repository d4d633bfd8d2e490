"""XIDs: which are new, which are old, which are after-effects."""

import pytest

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.health.host_reports import HostReports
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.health.xid import XidDetector
from flyball_collector.diagnosis.health.xid_catalogue import BY_CODE, XIDS, XidClass, look_up
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_proto.v1 import telemetry_pb2 as pb


def sim() -> SimulatedFleet:
    found = SimulatedFleet(XidDetector(HealthSettings(), HostReports()))
    found.set("gpu_power_watts", 100, gpu="GPU-0")
    found.set("gpu_power_watts", 100, gpu="GPU-1")
    return found


def raised(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.subject.gpu, event.subject.resource) for event in events if event.state == "raised"]


def test_every_code_is_listed_once_with_an_action() -> None:
    """The table has one entry for each code, none without text; codes of the published lists have their class."""
    assert len(BY_CODE) == len(XIDS)
    assert all(xid.name and xid.action for xid in XIDS)
    for code in (46, 48, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158):
        assert look_up(code).belongs_to is XidClass.RESET, code
    for code in (13, 31, 11, 25, 32, 94):
        assert look_up(code).belongs_to is XidClass.APPLICATION, code
    for code in (79, 54, 78, 154):
        assert look_up(code).belongs_to is XidClass.NODE, code
    for code in (43, 63, 92):
        assert look_up(code).belongs_to is XidClass.IGNORE, code
    assert look_up(63).disputed
    assert look_up(94).disputed
    assert look_up(9999).belongs_to is XidClass.UNKNOWN


def test_an_xid_is_raised_for_its_gpu_and_cleared() -> None:
    """It has class, meaning and action, is active while it is new, and is cleared some time later."""
    fleet = sim()
    assert fleet.step() == []
    fleet.add_event("gpu_xid", resource="GPU-1", code=79)
    [event] = fleet.step()
    assert (event.state, event.subject.gpu, event.subject.resource) == ("raised", "GPU-1", "XID 79")
    assert event.severity is Severity.CRITICAL
    assert "fallen off the bus" in event.because
    assert "restart the host" in event.because
    assert fleet.kinds(890) == []
    assert fleet.kinds(20) == ["gpu_xid cleared"]


def test_an_application_xid_is_a_warning_and_others_are_ignored() -> None:
    """13 asks to debug the application; 43, 63 and 92 are only for the record."""
    fleet = sim()
    for code in (43, 63, 92):
        fleet.add_event("gpu_xid", resource="GPU-0", code=code)
    assert fleet.step(5) == []
    fleet.add_event("gpu_xid", resource="GPU-0", code=13)
    [event] = fleet.step()
    assert event.severity is Severity.WARNING
    assert "application" in event.because


def test_each_code_is_a_condition_of_its_own() -> None:
    """A second code on the same GPU is reported, the same code again is not."""
    fleet = sim()
    fleet.add_event("gpu_xid", resource="GPU-0", code=31)
    assert raised(fleet.step()) == [("GPU-0", "XID 31")]
    fleet.add_event("gpu_xid", resource="GPU-0", code=31)
    assert fleet.step() == []
    fleet.add_event("gpu_xid", resource="GPU-0", code=48)
    assert raised(fleet.step()) == [("GPU-0", "XID 48")]


def test_an_after_effect_is_reported_only_alone() -> None:
    """45 with another error is an after-effect; alone it is reported."""
    fleet = sim()
    fleet.add_event("gpu_xid", resource="GPU-0", code=48)
    fleet.add_event("gpu_xid", resource="GPU-0", code=45)
    fleet.add_event("gpu_xid", resource="GPU-1", code=45)
    assert sorted(raised(fleet.step())) == [("GPU-0", "XID 48"), ("GPU-1", "XID 45")]


def test_one_code_in_different_jobs_suspects_the_gpu() -> None:
    """An application error that follows the GPU from job to job is not the application's."""
    fleet = sim()
    severities = []
    for run in ("first", "second"):
        fleet.host().tenancy = pb.Tenancy(members=[pb.Member(pid=1, run=run, gpus=["GPU-0"])])
        fleet.add_event("gpu_xid", resource="GPU-0", code=13)
        severities += [event.severity for event in fleet.step(70)]
    assert severities == [Severity.WARNING, Severity.CRITICAL]


@pytest.mark.parametrize(("ago", "reported"), [(200.0, True), (2000.0, False)])
def test_the_age_is_that_of_the_xid(ago: float, *, reported: bool) -> None:
    """One that arrives late from the spool is reported while it is new; an old one is history."""
    fleet = sim()
    fleet.step()
    fleet.add_event("gpu_xid", resource="GPU-0", code=79, ago=ago)
    assert bool(raised(fleet.step())) is reported


def test_an_xid_that_is_read_again_after_a_restart_is_not_new() -> None:
    """An active condition continues as the same one; one that was over does not return."""
    before = sim()
    before.add_event("gpu_xid", resource="GPU-0", code=79)
    [event] = before.step()
    events = before.host().events

    after = sim()
    after.now = before.now + 100
    after.diagnosis.conditions.load([event], int(after.now * 1e9))
    after.host().events = events  # from the store
    assert after.step(5) == []
    assert after.diagnosis.conditions.active()[0].event.condition == event.condition

    later = sim()
    later.now = before.now + 2000
    later.host().events = events
    assert later.step(5) == []


def test_a_wrong_host_clock_does_not_keep_xids_new() -> None:
    """Event times are corrected by the skew; one from the future counts from when it was reported."""
    fleet = sim()
    fleet.host().clock_skew_seconds = 3600.0
    fleet.add_event("gpu_xid", resource="GPU-0", code=79, ago=-3600.0)
    assert raised(fleet.step()) == [("GPU-0", "XID 79")]
    fleet.add_event("gpu_xid", resource="GPU-1", code=79, ago=-90_000.0)
    assert raised(fleet.step()) == [("GPU-1", "XID 79")]
    assert fleet.kinds(910) == ["gpu_xid cleared"] * 2


def test_the_recovery_action_is_active_until_it_is_done() -> None:
    """It is reported as XID 154 with the action that the driver requires."""
    fleet = sim()
    fleet.set("gpu_recovery_action", 0, gpu="GPU-0")
    assert fleet.step(2) == []
    fleet.set("gpu_recovery_action", 2, gpu="GPU-0")
    [event] = fleet.step()
    assert event.subject.resource == "XID 154"
    assert "restart the host" in event.because
    assert fleet.kinds(1500) == []
    fleet.set("gpu_recovery_action", 0, gpu="GPU-0")
    assert fleet.kinds(950) == ["gpu_xid cleared"]


@pytest.mark.parametrize(
    ("action", "words"), [(5, "recover the IMEX domain"), (8, "the recovery action that nvidia-smi -q lists")]
)
def test_newer_recovery_actions_are_named(action: int, words: str) -> None:
    """Actions of newer drivers are named; one that is not known refers to the driver."""
    fleet = sim()
    fleet.set("gpu_recovery_action", action, gpu="GPU-0")
    [event] = fleet.step()
    assert words in event.because


def test_removing_a_host_clears_its_xids() -> None:
    """The condition of a host that no longer exists is cleared."""
    fleet = sim()
    fleet.host("b")
    fleet.add_event("gpu_xid", resource="GPU-0", code=79)
    fleet.step()
    fleet.not_reporting.add("a")
    fleet.fleet.remove("a")
    assert fleet.kinds() == ["gpu_xid cleared"]


def test_many_codes_are_bounded() -> None:
    """Any number of codes uses a limited amount of memory."""
    detector = XidDetector(HealthSettings(), HostReports())
    fleet = SimulatedFleet(detector)
    for batch in range(5):
        fleet.host().events = ()
        for code in range(900):
            fleet.add_event("gpu_xid", resource=f"GPU-{batch}", code=10_000 + code)
        fleet.step()
    assert len(detector._seen) <= 4096
    assert isinstance(fleet.diagnosis.conditions, Conditions)
