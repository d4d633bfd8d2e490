"""The facts about one run, from readings, reports, conditions and advice."""

import pytest

from flyball_collector.adjustments.situation.run_facts import RunFacts
from flyball_collector.adjustments.situation.run_situation import RunSituation
from flyball_collector.diagnosis.active_conditions import ActiveCondition
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.thermal_slowdown import ThermalSlowdown
from flyball_collector.diagnosis.health.host_reports import HostReports
from flyball_collector.diagnosis.health.oom_kill import OomKillDetector
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_collector.fleet.kill_details import KillDetails, KillLimit
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.adjustments.rules.runs import event

GIB = 1024.0**3


def report(step: int, run: str = "r", **changes: object) -> pb.StepReport:
    """Return a report of one second with two steps."""
    given = {"run": run, "rank": 0, "world_size": 1, "pid": 7, "step": step, "steps": 2, "step_seconds": 1.0} | changes
    return pb.StepReport(**given)  # type: ignore[arg-type]  # the tests name its fields


def fleet_with_gpus(*margins: float) -> SimulatedFleet:
    """Return a host with GPUs that have these margins."""
    fleet = SimulatedFleet(ThermalSlowdown(ForecastSettings()))
    for name, value in {"cpu_threads_online": 16, "memory_available_bytes": 50 * GIB}.items():
        fleet.set(name, value)
    for number, margin in enumerate(margins):
        gpu = f"GPU-{number}"
        for name, value in {
            "gpu_utilization_ratio": 0.5, "gpu_memory_total_bytes": (80 - number) * GIB,
            "gpu_temperature_margin_celsius": margin, "gpu_temperature_celsius": 92 - margin,
        }.items():  # fmt: skip
            fleet.set(name, value, gpu=gpu)
        fleet.set("gpu_throttle_active", 0, gpu=gpu, reason="hw_thermal")
        fleet.set("gpu_throttle_active", float(margin <= 0), gpu=gpu, reason="sw_thermal")
    return fleet


def hold(fleet: SimulatedFleet, run: str, *gpus: str, pid: int = 7) -> None:
    """Let a process of a run hold GPUs."""
    state = fleet.host()
    members = list(state.tenancy.members) if state.tenancy is not None else []
    state.tenancy = pb.Tenancy(members=[*members, pb.Member(pid=pid, run=run, source="client", gpus=gpus)])


def facts(fleet: SimulatedFleet, found: RunFacts | None = None, run: str = "r") -> RunSituation:
    """Return the facts about a run."""
    made = (found or RunFacts(fleet.diagnosis.advisor)).situation(fleet.view, fleet.diagnosis.conditions, run)
    assert made is not None
    return made


def test_a_run_without_reports_has_no_facts() -> None:
    """Nothing is known about a run whose ranks report no steps."""
    fleet = fleet_with_gpus(20.0)
    fleet.step()
    assert RunFacts(fleet.diagnosis.advisor).situation(fleet.view, fleet.diagnosis.conditions, "r") is None


def test_only_the_gpus_of_the_run_count() -> None:
    """A hotter GPU of another run changes neither figures nor conditions."""
    fleet = fleet_with_gpus(20.0, -1.0)
    hold(fleet, "r", "GPU-0")
    hold(fleet, "other", "GPU-1", pid=8)
    for second in range(8):
        fleet.report(report(2 * second), report(2 * second, "other", pid=8))
        fleet.step()
    found, other = facts(fleet), facts(fleet, run="other")
    assert (found.gpus, found.temperature_margin_celsius, found.temperature_celsius) == (1, 20.0, 72.0)
    assert (found.slowed_by_heat, found.has("thermal_slowdown")) == (False, False)
    assert (other.gpus, other.temperature_margin_celsius) == (1, -1.0)
    assert (other.slowed_by_heat, other.has("thermal_slowdown")) == (True, True)
    assert (found.memory_total_bytes, other.memory_total_bytes) == (80 * GIB, 79 * GIB)
    assert [host.gpus for host in found.hosts] == [1]


@pytest.mark.parametrize(("tenants", "gpus"), [((), 1), (("other",), 0)])
def test_gpus_that_nobody_is_known_to_hold_belong_to_the_only_run(tenants: tuple[str, ...], gpus: int) -> None:
    """In a container nobody sees who holds a GPU. With another run or a known holder on the host, it is not guessed."""
    fleet = fleet_with_gpus(20.0)
    for name in tenants:
        hold(fleet, name, "GPU-0", pid=8)
    fleet.report(report(2))
    fleet.step()
    assert facts(fleet).gpus == gpus
    fleet.report(report(4), report(2, "another", pid=9))
    fleet.step()
    assert facts(fleet).gpus == 0


def test_figures_come_from_the_reports() -> None:
    """Peak, world size, restarts and step time are those of the ranks; unknown ones stay unknown."""
    fleet = SimulatedFleet()
    fleet.host()
    for second in range(5):
        fleet.report(
            report(2 * second, world_size=2, attempt=3, allocated_peak_bytes=7, step_seconds=0.8),
            report(2 * second, world_size=2, attempt=3, allocated_peak_bytes=9, step_seconds=0.8, rank=1, pid=8),
        )
        fleet.step()
    found = facts(fleet)
    assert (found.world_size, found.failures, found.peak_bytes) == (2, 3, 9.0)
    assert found.step_seconds == pytest.approx(0.4)
    assert found.hours == pytest.approx(5 / 3600, rel=0.3)
    unknown = (found.gpu_busy_share, found.temperature_margin_celsius, found.slowed_by_heat, found.on_battery)
    assert unknown == (None, None, None, None)
    assert (found.service_share, found.calls_per_sample, found.checkpoint_seconds) == (None, None, None)


@pytest.mark.parametrize(
    ("labels", "length"),
    [({"total_steps": "400"}, (400.0, 392.0)), ({"total_samples": "640"}, (20.0, 12.0)), ({}, None)],
)
def test_the_length_of_a_run_is_what_it_has_announced(
    labels: dict[str, str], length: tuple[float, float] | None
) -> None:
    """It is announced in steps or samples; without it, the number of steps left is unknown."""
    fleet = SimulatedFleet()
    fleet.host().tenancy = pb.Tenancy(members=[pb.Member(pid=7, run="r", source="client", labels=labels)])
    for second in range(5):
        fleet.report(report(2 * second, samples=64.0))
        fleet.step()
    found = facts(fleet)
    assert (found.total_steps, found.steps_left) == (length or (None, None))


@pytest.mark.parametrize(("source", "battery"), [("battery", True), ("mains", False), ("", None), ("unknown", None)])
def test_the_source_of_power_is_known_or_not(source: str, battery: bool | None) -> None:
    """Only `battery` and `mains` are facts."""
    fleet = SimulatedFleet()
    fleet.host().inventory = pb.Inventory(power_source=source)
    fleet.report(report(2))
    fleet.step()
    assert facts(fleet).on_battery is battery


def call_report(step: int, calls: int) -> pb.StepReport:
    """Return a second in which two samples needed calls of 10 ms each."""
    return report(step, samples=2, calls=[pb.CallReport(service="s", count=calls, seconds=0.01 * calls)])


def test_calls_are_measured_since_the_last_change() -> None:
    """A hundred calls in a second are 50 a sample; after a change to two calls, the earlier ones do not count."""
    fleet, found = SimulatedFleet(), None
    fleet.host()
    meter = RunFacts(fleet.diagnosis.advisor)
    for second in range(1, 31):
        fleet.report(call_report(2 * second, 90 if second <= 15 else 2))
        fleet.step()
        changed_ns = int((fleet.now - (second - 15)) * 1e9) + 10**9 if second > 15 else 0
        found = meter.situation(fleet.view, fleet.diagnosis.conditions, "r", changed_ns=changed_ns)
        assert found is not None
        if second == 15:
            assert found.calls_per_sample == pytest.approx(45.0)
            assert found.call_seconds == pytest.approx(0.01)
            assert found.service_share == pytest.approx(0.9)
    assert found is not None
    assert found.calls_per_sample == pytest.approx(1.0)
    assert found.service_share == pytest.approx(0.02)
    assert found.hosts[0].calls_per_sample == found.calls_per_sample


def test_a_restart_begins_a_new_measurement() -> None:
    """The calls of an earlier attempt are not mixed with those of the next one."""
    fleet = SimulatedFleet()
    fleet.host()
    meter = RunFacts(fleet.diagnosis.advisor)
    for second in range(1, 21):
        restarted = second > 12
        fleet.report(
            report(
                2 * second,
                samples=2,
                attempt=int(restarted),
                calls=[pb.CallReport(service="s", count=2 if restarted else 90, seconds=0.1)],
            )
        )
        fleet.step()
        found = facts(fleet, meter)
    assert found.calls_per_sample == pytest.approx(1.0)
    meter.forget("r")
    assert facts(fleet, meter).calls_per_sample is None


def test_conditions_of_a_lost_gpu_stay_with_its_run() -> None:
    """A GPU that the run held before it was lost is still one of the run."""
    fleet = fleet_with_gpus(-1.0)
    hold(fleet, "r", "GPU-0")
    meter = RunFacts(fleet.diagnosis.advisor)
    for second in range(6):
        fleet.report(report(2 * second))
        fleet.step()
        facts(fleet, meter)
    fleet.host().tenancy = pb.Tenancy()
    hold(fleet, "other", "GPU-0", pid=8)
    fleet.report(report(14))
    fleet.step(6)
    active = fleet.diagnosis.conditions.active_of("a")
    assert Subject("a", "GPU-0") in {one.subject for one in active}
    assert facts(fleet, meter).has("thermal_slowdown")
    assert not facts(fleet).has("thermal_slowdown")


@pytest.mark.parametrize(("limit", "concerns"), [(KillLimit.GROUP, {"r"}), (KillLimit.HOST, {"r", "other"})])
def test_a_kill_at_a_groups_limit_concerns_only_the_run_in_that_group(limit: KillLimit, concerns: set[str]) -> None:
    """Another job that reaches its own limit changes nothing in a run; memory of the host that runs out does."""
    fleet = SimulatedFleet(OomKillDetector(HostReports()))
    fleet.set("oom_kills_total", 0)
    for step in (2, 4, 6):
        fleet.report(report(step), report(step, "other", pid=8))
        fleet.step()
    fleet.add_event("oom_kill", resource="python", kill=KillDetails(limit=limit, process="python", run="r", pid=7))
    fleet.set("oom_kills_total", 1)
    fleet.step()
    assert {run for run in ("r", "other") if facts(fleet, run=run).has("oom_kill")} == concerns


def test_advice_about_the_hosts_of_the_run_counts() -> None:
    """The advice about another host is not about this run."""
    fleet = fleet_with_gpus(20.0)
    fleet.host("b")
    fleet.report(report(2))
    fleet.report(report(2, "other", pid=8), host="b")
    fleet.step()
    trouble = ActiveCondition(event("power_brake"))
    rules = {one.rule for one in fleet.diagnosis.advisor.consider(fleet.view, [trouble])}
    assert "check_power_supply" in rules
    assert {one.rule for one in facts(fleet).advice} == rules
    assert facts(fleet, run="other").advice == ()
