"""From readings and conditions of a fleet to advice that stays the same until it changes materially."""

from typing import Any

import numpy as np
import pytest

from flyball_collector.advice.advice import Safety
from flyball_collector.advice.advice_list import materially_other
from flyball_collector.advice.advisor import Advisor
from flyball_collector.advice.fleet_facts import FleetFacts
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.active_conditions import ActiveCondition
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_proto.v1 import telemetry_pb2 as pb

GIB = 1024.0**3


def active(kind: str, subject: Subject | None = None, confidence: float = 0.8, **evidence: float) -> ActiveCondition:
    found = Event(
        condition=kind,
        time_ns=1,
        state=State.RAISED,
        kind=BY_NAME[kind],
        subject=subject or Subject("a"),
        severity=BY_NAME[kind].severity,
        confidence=confidence,
        because=f"text of {kind}",
        evidence=evidence,
    )
    return ActiveCondition(found)


def report(step: int, wait: float = 0.4) -> pb.StepReport:
    return pb.StepReport(
        run="r", rank=0, world_size=1, pid=7, step=step, steps=2, step_seconds=1.0, data_wait_seconds=wait
    )


def waiting_host(*, busy: float = 0.5, available: float = 500.0) -> SimulatedFleet:
    """Return a host with one GPU, a training that waits for input 40 % of the time, and room for more workers."""
    fleet = SimulatedFleet()
    for name, value in {
        "cpu_busy_ratio": 0.2,
        "cpu_threads_online": 64,
        "memory_available_bytes": available * GIB,
        "memory_total_bytes": 1000 * GIB,
        "shared_memory_total_bytes": 500 * GIB,
        "shared_memory_used_bytes": 10 * GIB,
        "tcp_opened_total": 0,
    }.items():
        fleet.set(name, value)
    fleet.set("gpu_utilization_ratio", busy, gpu="GPU-0")
    fleet.set("gpu_memory_total_bytes", 80 * GIB, gpu="GPU-0")
    for second in range(20):
        fleet.report(report(2 * second + 2))
        fleet.step()
    return fleet


def test_facts_come_from_readings_and_step_reports() -> None:
    """They are shares of the latest steps and means of a minute; unknown values stay unknown."""
    fleet = waiting_host()
    fleet.set("cgroup_memory_limit_bytes", 100 * GIB)
    fleet.set("cgroup_memory_working_bytes", 60 * GIB)
    fleet.set("cgroup_cpu_limit_cores", 8)
    fleet.set("latency_seconds", 0.03, target="http://service")
    fleet.set("latency_seconds", 0.9, target="localhost")
    fleet.host().inventory = pb.Inventory(gpus=[pb.Gpu(compute_capability="9.0")], power_source="battery")
    fleet.report(report(50))
    fleet.step()
    [found] = FleetFacts(fleet.view, np.array([np.nan]), np.array([12.0])).situations(
        [active("bottleneck_data_wait").event]
    )
    assert isinstance(found, Situation)
    assert found.data_wait_share == pytest.approx(0.4)
    assert found.step_seconds == pytest.approx(0.5)
    assert (found.run, found.world_size, found.gpus) == ("r", 1, 1)
    assert found.gpu_busy_share == pytest.approx(0.5)
    assert (found.cores, found.memory_available_bytes) == (8, 40 * GIB)
    assert found.shared_memory_free_bytes == 490 * GIB
    assert (found.capability, found.power_source) == (9.0, "battery")
    assert found.call_seconds == pytest.approx(0.03)
    assert found.connections_opened_per_second == 12
    unknown = (found.disk_busy_share, found.tensor_active_share, found.communication_share, found.gpu_power_share)
    assert unknown == (None, None, None, None)


def test_evidence_of_conditions_becomes_facts() -> None:
    """Numbers measured by detectors are used under their names."""
    fleet = waiting_host()
    event = active("bottleneck_service", service_ratio=0.6, calls_per_sample=100.0).event
    [found] = FleetFacts(fleet.view, np.array([np.nan]), np.array([0.0])).situations([event])
    assert (found.service_share, found.calls_per_sample) == (0.6, 100.0)


def test_ended_runs_do_not_count_for_their_host() -> None:
    """Ranks of an ended run stay in the table for some minutes, but its wait for input is not that of the next run."""
    fleet = SimulatedFleet()
    fleet.set("cpu_busy_ratio", 1.0)
    for second in range(130):
        reports = [
            pb.StepReport(run=run, step=second, steps=1, step_seconds=1.0, data_wait_seconds=wait)
            for run, wait, end in (("ended", 0.9, 20), ("now", 0.0, 130))
            if second < end
        ]
        fleet.report(*reports)
        fleet.step()
    facts = FleetFacts(fleet.view, np.array([np.nan]), np.array([0.0]))
    assert len(fleet.view.ranks.keys) == 2
    [found] = facts.situations([active("bottleneck_cpu").event])
    assert (found.run, found.data_wait_share) == ("now", 0.0)


@pytest.mark.parametrize(
    ("reading", "value", "others"),
    [("training_workers", 1, 1.4), ("training_processes", 4, None), ("cgroup_cpu_limit_cores", 1, None)],
)
def test_the_cpus_of_other_programs_are_known_if_all_trainings_are_watched(
    reading: str, value: float, others: float | None
) -> None:
    """They are what trainings and their workers leave of the busy CPUs, unless a limit or more processes are there."""
    fleet = SimulatedFleet()
    readings = {
        "cpu_busy_ratio": 0.95,
        "cpu_threads_online": 2,
        "training_processes": 1,
    }
    for name, given in (readings | {reading: value}).items():
        fleet.set(name, given)
    for second in range(20):
        fleet.set("training_cpu_seconds_total", 0.4 * second)
        fleet.set("training_worker_cpu_seconds_total", 0.1 * second)
        fleet.step()
    event = active("bottleneck_cpu", training_delay_ratio=0.3).event
    [found] = FleetFacts(fleet.view, np.array([np.nan]), np.array([0.0])).situations([event])
    assert found.ready_share == 0.3
    assert found.other_cores == (None if others is None else pytest.approx(others, abs=0.02))
    if others is not None:
        assert found.own_cores == pytest.approx(0.5, abs=0.01)


def test_advice_appears_and_disappears_with_its_condition() -> None:
    """It names host, change and gain; without an active condition there is none."""
    fleet, advisor = waiting_host(), Advisor(AdviceSettings())
    assert advisor.consider(fleet.view, []) == ()
    [advice] = advisor.consider(fleet.view, [active("bottleneck_data_wait")])
    assert (advice.rule, advice.subject, advice.safety) == ("more_workers", Subject("a"), Safety.SAFE)
    assert advice.gain is not None
    assert advice.gain.upper == pytest.approx(1 / 0.6, rel=0.01)
    assert advisor.consider(fleet.view, []) == ()


def test_advice_stays_as_it_is_until_it_changes_materially() -> None:
    """Small fluctuations change nothing; half the memory does."""
    fleet, advisor = waiting_host(), Advisor(AdviceSettings())
    fleet.set("memory_available_bytes", 215 * GIB)
    fleet.step()
    conditions = [active("bottleneck_data_wait")]
    [first] = advisor.consider(fleet.view, conditions)
    assert first.proposed["workers_added"] == 6
    fleet.set("memory_available_bytes", 213 * GIB)
    fleet.report(report(100, 0.42))
    fleet.step(15)
    [second] = advisor.consider(fleet.view, conditions)
    assert second is first
    fleet.set("memory_available_bytes", 207 * GIB)
    fleet.step(15)
    [third] = advisor.consider(fleet.view, conditions)
    assert third.proposed["workers_added"] == 3
    assert materially_other(first, third)


def test_more_specific_advice_replaces_the_general_one() -> None:
    """If a disk is the cause, more workers are not advised."""
    fleet, advisor = waiting_host(), Advisor(AdviceSettings())
    advice = advisor.consider(fleet.view, [active("bottleneck_data_wait"), active("bottleneck_disk")])
    assert [one.rule for one in advice] == ["faster_storage"]


def test_a_rule_can_be_disabled() -> None:
    """It is disabled by its name, like kinds of condition."""
    fleet = waiting_host()
    advisor = Advisor(AdviceSettings(), disabled=["more_workers"])
    assert advisor.consider(fleet.view, [active("bottleneck_data_wait")]) == ()


def test_threats_come_first() -> None:
    """A broken GPU comes before a speed-up; among speed-ups, the one with the most value for its effort."""
    fleet, advisor = waiting_host(), Advisor(AdviceSettings())
    conditions = [
        active("bottleneck_data_wait"),
        active("bottleneck_numa"),
        active("gpu_xid", Subject("a", "GPU-0", resource="XID 79"), xid=79.0),
    ]
    assert [one.rule for one in advisor.consider(fleet.view, conditions)] == [
        "service_node",
        "more_workers",
        "bind_numa",
    ]
    assert advisor.current[0].severity is Severity.CRITICAL


def test_no_speed_up_is_advised_for_a_lost_host() -> None:
    """While a host is lost, only repairs are advised."""
    fleet, advisor = waiting_host(), Advisor(AdviceSettings())
    conditions = [
        active("bottleneck_data_wait"),
        active("gpu_xid", Subject("a", "GPU-0", resource="XID 79"), xid=79.0),
        active("data_gap"),
    ]
    situations = [one.rule for one in advisor.consider(fleet.view, conditions)]
    assert situations == ["service_node"]


def test_a_run_is_advised_as_a_whole() -> None:
    """A condition without a host is about the run; its facts are those of its ranks."""
    fleet, advisor = waiting_host(), Advisor(AdviceSettings())
    subject = Subject(run="r")
    [advice] = advisor.consider(fleet.view, [active("bottleneck_communication", subject, communication_ratio=0.3)])
    assert (advice.rule, advice.subject) == ("hide_communication", subject)


def test_the_diagnosis_updates_the_advice() -> None:
    """A condition raised by a detector leads to advice."""
    fleet = waiting_host()
    conditions = fleet.diagnosis.conditions
    conditions.load([active("bottleneck_data_wait").event], int(fleet.now * 1e9))
    fleet.step(12)
    assert [one.rule for one in fleet.diagnosis.advisor.current] == ["more_workers"]


def test_a_wait_while_the_gpu_is_busy_has_no_gain() -> None:
    """If the GPU never idles, forty per cent of waiting does not justify more workers."""
    fleet, advisor = waiting_host(busy=0.99), Advisor(AdviceSettings())
    assert advisor.consider(fleet.view, [active("bottleneck_data_wait")]) == ()


def test_hosts_that_left_cause_no_error() -> None:
    """A condition of a host without readings has no facts."""
    fleet, advisor = waiting_host(), Advisor(AdviceSettings())
    facts: dict[str, Any] = {"subject": Subject("gone", "GPU-0", resource="XID 79"), "xid": 79.0}
    assert [one.rule for one in advisor.consider(fleet.view, [active("gpu_xid", **facts)])] == ["service_node"]
