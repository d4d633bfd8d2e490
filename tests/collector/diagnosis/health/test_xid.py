"""XIDs: what is new, what is old, what belongs to another error."""

import pytest

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.health.host_reports import HostReports
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.health.xid import XidDetector
from flyball_collector.diagnosis.health.xid_catalogue import BY_CODE, XIDS, XidClass, look_up
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.engine.testing.hosts import Stage
from flyball_proto.v1 import telemetry_pb2 as pb


def stage() -> Stage:
    found = Stage(XidDetector(HealthSettings(), HostReports()))
    found.set("gpu_power_watts", 100, gpu="GPU-0")
    found.set("gpu_power_watts", 100, gpu="GPU-1")
    return found


def raised(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.subject.gpu, event.subject.resource) for event in events if event.state == "raised"]


def test_every_code_is_listed_once_and_says_what_to_do() -> None:
    """The table has no two entries of a code, and none without words; codes of the published lists have their class."""
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


def test_an_xid_is_raised_for_its_gpu_and_ends() -> None:
    """It says class, meaning and action, stands while it is new, and is over some time later."""
    on = stage()
    assert on.step() == []
    on.tell("gpu_xid", resource="GPU-1", code=79)
    [event] = on.step()
    assert (event.state, event.subject.gpu, event.subject.resource) == ("raised", "GPU-1", "XID 79")
    assert event.severity is Severity.CRITICAL
    assert "fallen off the bus" in event.because
    assert "restart the machine" in event.because
    assert on.kinds(890) == []
    assert on.kinds(20) == ["gpu_xid cleared"]


def test_an_application_s_xid_is_a_warning_and_one_to_ignore_is_silent() -> None:
    """13 asks for a look at the application; 43, 63 and 92 are for the record."""
    on = stage()
    for code in (43, 63, 92):
        on.tell("gpu_xid", resource="GPU-0", code=code)
    assert on.step(5) == []
    on.tell("gpu_xid", resource="GPU-0", code=13)
    [event] = on.step()
    assert event.severity is Severity.WARNING
    assert "application" in event.because


def test_each_code_is_a_condition_of_its_own() -> None:
    """A second code on a GPU that has one already is told, the same code again is not."""
    on = stage()
    on.tell("gpu_xid", resource="GPU-0", code=31)
    assert raised(on.step()) == [("GPU-0", "XID 31")]
    on.tell("gpu_xid", resource="GPU-0", code=31)
    assert on.step() == []
    on.tell("gpu_xid", resource="GPU-0", code=48)
    assert raised(on.step()) == [("GPU-0", "XID 48")]


def test_an_after_effect_is_told_only_alone() -> None:
    """45 beside another error follows it; alone it is told."""
    on = stage()
    on.tell("gpu_xid", resource="GPU-0", code=48)
    on.tell("gpu_xid", resource="GPU-0", code=45)
    on.tell("gpu_xid", resource="GPU-1", code=45)
    assert sorted(raised(on.step())) == [("GPU-0", "XID 48"), ("GPU-1", "XID 45")]


def test_one_code_in_different_jobs_suspects_the_gpu() -> None:
    """An application's error that follows the GPU from job to job is no application's error."""
    on = stage()
    severities = []
    for run in ("first", "second"):
        on.host().tenancy = pb.Tenancy(members=[pb.Member(pid=1, run=run, gpus=["GPU-0"])])
        on.tell("gpu_xid", resource="GPU-0", code=13)
        severities += [event.severity for event in on.step(70)]
    assert severities == [Severity.WARNING, Severity.CRITICAL]


@pytest.mark.parametrize(("ago", "told"), [(200.0, True), (2000.0, False)])
def test_age_is_the_xid_s_own(ago: float, *, told: bool) -> None:
    """One that a record from the spool brings late is told while it is new; an old one is history."""
    on = stage()
    on.step()
    on.tell("gpu_xid", resource="GPU-0", code=79, ago=ago)
    assert bool(raised(on.step())) is told


def test_an_xid_that_is_read_again_after_a_restart_is_no_new_one() -> None:
    """What stood goes on as the same condition; what was over does not come back."""
    before = stage()
    before.tell("gpu_xid", resource="GPU-0", code=79)
    [event] = before.step()
    told = before.host().events

    after = stage()
    after.now = before.now + 100
    after.diagnosis.conditions.load([event], int(after.now * 1e9))
    after.host().events = told  # read from the store
    assert after.step(5) == []
    assert after.diagnosis.conditions.active()[0].event.condition == event.condition

    later = stage()
    later.now = before.now + 2000
    later.host().events = told
    assert later.step(5) == []


def test_a_host_s_wrong_clock_makes_nothing_new_for_ever() -> None:
    """Its event times are corrected by its skew; one from the future counts from when it was told."""
    on = stage()
    on.host().clock_skew_seconds = 3600.0
    on.tell("gpu_xid", resource="GPU-0", code=79, ago=-3600.0)
    assert raised(on.step()) == [("GPU-0", "XID 79")]
    on.tell("gpu_xid", resource="GPU-1", code=79, ago=-90_000.0)
    assert raised(on.step()) == [("GPU-1", "XID 79")]
    assert on.kinds(910) == ["gpu_xid cleared"] * 2


def test_the_driver_s_recovery_action_stands_until_it_is_done() -> None:
    """It is told as XID 154, with what the driver asks for."""
    on = stage()
    on.set("gpu_recovery_action", 0, gpu="GPU-0")
    assert on.step(2) == []
    on.set("gpu_recovery_action", 2, gpu="GPU-0")
    [event] = on.step()
    assert event.subject.resource == "XID 154"
    assert "restart the node" in event.because
    assert on.kinds(1500) == []
    on.set("gpu_recovery_action", 0, gpu="GPU-0")
    assert on.kinds(950) == ["gpu_xid cleared"]


def test_a_host_that_is_removed_takes_its_xids_along() -> None:
    """The condition of a host that is no more ends."""
    on = stage()
    on.host("b")
    on.tell("gpu_xid", resource="GPU-0", code=79)
    on.step()
    on.mute.add("a")
    on.fleet.remove("a")
    assert on.kinds() == ["gpu_xid cleared"]


def test_a_flood_is_bounded() -> None:
    """Codes without end do not fill the memory."""
    detector = XidDetector(HealthSettings(), HostReports())
    on = Stage(detector)
    for batch in range(70):
        on.host().events = ()
        for code in range(64):
            on.tell("gpu_xid", resource=f"GPU-{batch}", code=10_000 + code)
        on.step()
    assert len(detector._seen) <= 4096
    assert isinstance(on.diagnosis.conditions, Conditions)
