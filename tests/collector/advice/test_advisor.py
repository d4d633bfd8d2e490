"""The advisor: from a fleet's readings and conditions to advice that stays as it is."""

from typing import Any

import numpy as np
import pytest

from flyball_collector.advice.advice import Safety
from flyball_collector.advice.advisor import Advisor
from flyball_collector.advice.board import materially_other
from flyball_collector.advice.scene import Scene
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.conditions import ActiveCondition
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.testing.hosts import Stage
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
        because=f"words of {kind}",
        evidence=evidence,
    )
    return ActiveCondition(found)


def report(step: int, wait: float = 0.4) -> pb.StepReport:
    return pb.StepReport(
        run="r", rank=0, world_size=1, pid=7, step=step, steps=2, step_seconds=1.0, data_wait_seconds=wait
    )


def stage(*, busy: float = 0.5, available: float = 500.0) -> Stage:
    """A host with one GPU, a training that waits for its input 40 % of the time, and room for more workers."""
    on = Stage()
    for name, value in {
        "cpu_busy_ratio": 0.2,
        "cpu_threads_online": 64,
        "memory_available_bytes": available * GIB,
        "memory_total_bytes": 1000 * GIB,
        "shared_memory_total_bytes": 500 * GIB,
        "shared_memory_used_bytes": 10 * GIB,
        "tcp_opened_total": 0,
    }.items():
        on.set(name, value)
    on.set("gpu_utilization_ratio", busy, gpu="GPU-0")
    on.set("gpu_memory_total_bytes", 80 * GIB, gpu="GPU-0")
    for second in range(20):
        on.report(report(2 * second + 2))
        on.step()
    return on


def test_facts_come_from_readings_and_step_reports() -> None:
    """Shares of the latest steps, means of a minute, and what is unknown is unknown."""
    on = stage()
    on.set("cgroup_memory_limit_bytes", 100 * GIB)
    on.set("cgroup_memory_working_bytes", 60 * GIB)
    on.set("cgroup_cpu_limit_cores", 8)
    on.set("latency_seconds", 0.03, target="http://service")
    on.set("latency_seconds", 0.9, target="localhost")
    on.host().inventory = pb.Inventory(gpus=[pb.Gpu(compute_capability="9.0")], power_source="battery")
    on.report(report(50))
    on.step()
    [found] = Scene(on.view, np.array([np.nan]), np.array([12.0])).situations([active("bottleneck_data_wait").event])
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
    """What detectors measured is used as they name it."""
    on = stage()
    said = active("bottleneck_service", service_ratio=0.6, calls_per_sample=100.0).event
    [found] = Scene(on.view, np.array([np.nan]), np.array([0.0])).situations([said])
    assert (found.service_share, found.calls_per_sample) == (0.6, 100.0)


def test_advice_is_given_and_withdrawn_with_its_condition() -> None:
    """It names host, change and gain; nothing is said where nothing stands."""
    on, advisor = stage(), Advisor(AdviceSettings())
    assert advisor.consider(on.view, []) == ()
    [advice] = advisor.consider(on.view, [active("bottleneck_data_wait")])
    assert (advice.rule, advice.subject, advice.safety) == ("more_workers", Subject("a"), Safety.SAFE)
    assert advice.gain is not None
    assert advice.gain.upper == pytest.approx(1 / 0.6, rel=0.01)
    assert advisor.consider(on.view, []) == ()


def test_advice_stays_as_it_is_until_it_changes_materially() -> None:
    """Numbers that wander change nothing; a half less memory does."""
    on, advisor = stage(), Advisor(AdviceSettings())
    on.set("memory_available_bytes", 215 * GIB)
    on.step()
    stands = [active("bottleneck_data_wait")]
    [first] = advisor.consider(on.view, stands)
    assert first.proposed["workers_added"] == 6
    on.set("memory_available_bytes", 213 * GIB)
    on.report(report(100, 0.42))
    on.step(15)
    [second] = advisor.consider(on.view, stands)
    assert second is first
    on.set("memory_available_bytes", 207 * GIB)
    on.step(15)
    [third] = advisor.consider(on.view, stands)
    assert third.proposed["workers_added"] == 3
    assert materially_other(first, third)


def test_the_more_precise_advice_stands_alone() -> None:
    """Beside a disk that is the cause nobody is told to add workers."""
    on, advisor = stage(), Advisor(AdviceSettings())
    advice = advisor.consider(on.view, [active("bottleneck_data_wait"), active("bottleneck_disk")])
    assert [one.rule for one in advice] == ["faster_storage"]


def test_a_rule_can_be_switched_off() -> None:
    """By its name, as kinds of condition are."""
    on = stage()
    advisor = Advisor(AdviceSettings(), disabled=["more_workers"])
    assert advisor.consider(on.view, [active("bottleneck_data_wait")]) == ()


def test_what_threatens_comes_first() -> None:
    """A broken GPU before a speed-up; among speed-ups the one that is worth most for its effort."""
    on, advisor = stage(), Advisor(AdviceSettings())
    stands = [
        active("bottleneck_data_wait"),
        active("bottleneck_numa"),
        active("gpu_xid", Subject("a", "GPU-0", resource="XID 79"), xid=79.0),
    ]
    assert [one.rule for one in advisor.consider(on.view, stands)] == ["service_node", "more_workers", "bind_numa"]
    assert advisor.given[0].severity is Severity.CRITICAL


def test_no_speed_up_is_promised_for_a_host_that_is_gone() -> None:
    """While a host is lost only what repairs it is told."""
    on, advisor = stage(), Advisor(AdviceSettings())
    stands = [
        active("bottleneck_data_wait"),
        active("gpu_xid", Subject("a", "GPU-0", resource="XID 79"), xid=79.0),
        active("data_gap"),
    ]
    situations = [one.rule for one in advisor.consider(on.view, stands)]
    assert situations == ["service_node"]


def test_a_run_is_advised_as_a_whole() -> None:
    """A condition that names no host is about the run; its facts are those of its ranks."""
    on, advisor = stage(), Advisor(AdviceSettings())
    subject = Subject(run="r")
    [advice] = advisor.consider(on.view, [active("bottleneck_communication", subject, communication_ratio=0.3)])
    assert (advice.rule, advice.subject) == ("hide_communication", subject)


def test_it_looks_every_ten_seconds_within_the_diagnosis() -> None:
    """The engine asks it; what a detector raises is advised on."""
    on = stage()
    conditions = on.diagnosis.conditions
    conditions.load([active("bottleneck_data_wait").event], int(on.now * 1e9))
    on.step(12)
    assert [one.rule for one in on.diagnosis.advisor.given] == ["more_workers"]


def test_a_wait_that_the_gpu_does_not_notice_brings_nothing() -> None:
    """Forty percent of waiting beside a GPU that never idles is no reason for workers."""
    on, advisor = stage(busy=0.99), Advisor(AdviceSettings())
    assert advisor.consider(on.view, [active("bottleneck_data_wait")]) == ()


def test_hosts_that_left_are_no_matter() -> None:
    """A condition of a host without readings finds no facts, and breaks nothing."""
    on, advisor = stage(), Advisor(AdviceSettings())
    facts: dict[str, Any] = {"subject": Subject("gone", "GPU-0", resource="XID 79"), "xid": 79.0}
    assert [one.rule for one in advisor.consider(on.view, [active("gpu_xid", **facts)])] == ["service_node"]
