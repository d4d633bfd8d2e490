"""Tests of whose memory ran out at a kill: reported by the agent, or inferred from the readings of the host."""

import math

import numpy as np
import pytest

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.health.host_reports import HostReports
from flyball_collector.diagnosis.health.kill_cause import KillCause, cause_of, infer, sentence
from flyball_collector.diagnosis.health.oom_kill import OomKillDetector
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_collector.fleet.events import HostEvent, add_events, merge_events
from flyball_collector.fleet.kill_details import KillDetails, KillLimit
from flyball_proto.v1 import telemetry_pb2 as pb

GB = 1e9
AT_LIMIT = KillDetails(
    limit=KillLimit.GROUP, source=pb.OomKill.KERNEL_LOG, group="/slurm/uid_7/job_42", limit_bytes=900_000_000,
    used_bytes=899_000_000, pid=30281, process="python", run="bert", rank=3, owner="Slurm job 42",
)  # fmt: skip


def fleet(free: float = 22.5 * GB) -> SimulatedFleet:
    """Return a host of 24 GB with so much free memory."""
    made = SimulatedFleet(OomKillDetector(HostReports()))
    made.set("memory_total_bytes", 24 * GB)
    made.set("memory_available_bytes", free)
    made.set("oom_kills_total", 0)
    for name in ("direct", "background"):
        made.set(f"reclaim_{name}_pages_total", 100)
    made.step(30)
    return made


def killed(made: SimulatedFleet, kills: int = 1) -> Event:
    """Count kills, and return the condition that is raised."""
    made.set("oom_kills_total", kills)
    [event] = made.step()
    return event


def test_the_limit_of_a_control_group_is_named_with_everything_that_is_known() -> None:
    """The sentence has the process, its rank, the group, its owner, limit and use, and that the host had room."""
    made = fleet()
    made.add_event("oom_kill", resource="python", kill=AT_LIMIT)
    event = killed(made)
    assert event.because == (
        "the kernel killed “python” (pid 30281, rank 3 of run “bert”): its control group “/slurm/uid_7/job_42” "
        "(“Slurm job 42”) reached its memory limit of 0.90 GB, 0.90 GB were used; the host had 22.5 GB free"
    )
    assert event.confidence == 0.99
    assert event.evidence["limit_of_a_group"] == 1
    assert (event.evidence["limit_bytes"], event.evidence["used_bytes"]) == (9e8, 8.99e8)
    assert event.evidence["memory_available_bytes"] == pytest.approx(22.5 * GB, rel=1e-3)


def test_the_sentence_stays_that_of_the_kill() -> None:
    """Readings of later minutes do not change whose memory ran out, and a counter that comes late does not either."""
    made = fleet()
    made.add_event("oom_kill", resource="python", kill=AT_LIMIT)
    made.step()
    made.set("oom_kills_total", 1)
    made.step(2)
    made.set("memory_available_bytes", 0.1 * GB)
    made.step(60)
    [active] = made.diagnosis.conditions.active()
    assert "/slurm/uid_7/job_42" in made.diagnosis.conditions.current(active).because


def test_without_details_a_host_with_room_points_to_a_control_group() -> None:
    """Old agents and agents without permission: less sure, and without a name."""
    event = killed(fleet(), kills=3)
    assert event.because == (
        "the kernel killed 3 processes: it probably reached the memory limit of its control group; "
        "the host had 22.5 GB free"
    )
    assert event.confidence == 0.9
    assert event.evidence["limit_of_a_group"] == 1


def test_without_details_a_full_host_that_reclaimed_ran_out() -> None:
    """The kernel scans pages of the whole host before it kills for want of its memory."""
    made = fleet(free=0.4 * GB)
    made.set("reclaim_direct_pages_total", 1_000_000)
    event = killed(made)
    assert event.because == "the kernel killed a process: the memory of the host probably ran out"
    assert (event.confidence, event.evidence["limit_of_a_group"]) == (0.8, 0)


def test_with_nothing_but_the_counter_it_is_left_open() -> None:
    """Neither is claimed, and no number is invented."""
    made = SimulatedFleet(OomKillDetector(HostReports()))
    made.set("oom_kills_total", 0)
    made.step(5)
    event = killed(made)
    assert event.because == "the kernel killed a process: memory ran out, of the host or of a control group"
    assert "limit_of_a_group" not in event.evidence


@pytest.mark.parametrize(
    ("available", "scanned", "limit", "confidence"),
    [
        ([20.0] * 60, 0.0, KillLimit.GROUP, 0.9),
        ([20.0] * 60, 5e5, KillLimit.GROUP, 0.8),
        ([20.0] * 60, math.nan, KillLimit.GROUP, 0.8),
        ([20.0, 15.0, 10.0, 5.0], 5e5, KillLimit.UNKNOWN, 0.99),  # 5 GB a second: it may have used the rest
        ([20.0, 15.0, 10.0, 5.0], 0.0, KillLimit.GROUP, 0.8),  # but nothing was reclaimed
        ([3.0, 2.0, 1.0], 5e5, KillLimit.HOST, 0.8),
        ([math.nan] * 9, 5e5, KillLimit.UNKNOWN, 0.99),
        ([], 0.0, KillLimit.UNKNOWN, 0.99),
    ],
)
def test_the_host_is_judged_by_its_room_and_its_reclaim(
    available: list[float], scanned: float, limit: KillLimit, confidence: float
) -> None:
    """The use between two readings may have grown as fast as ever before."""
    found = infer(np.array(available) * GB, 24 * GB, scanned)
    assert (found.limit, found.confidence) == (limit, confidence)


def test_an_agent_that_does_not_know_the_limit_leaves_it_to_the_readings() -> None:
    """Its process is named."""
    inferred = KillCause(KillLimit.GROUP, 0.9, free_bytes=20 * GB, inferred=True)
    found = cause_of(KillDetails(process="java", pid=7), inferred)
    assert sentence(found, 1) == (
        "the kernel killed “java” (pid 7): it probably reached the memory limit of its control group; "
        "the host had 20.0 GB free"
    )


@pytest.mark.parametrize(
    ("details", "text"),
    [
        (
            KillDetails(limit=KillLimit.GROUP, process="w", pid=5, run="b"),
            "the kernel killed “w” (pid 5, in the control group of run “b”): a control group reached its memory limit",
        ),
        (
            KillDetails(limit=KillLimit.GROUP, group="/a", process="w"),
            "the kernel killed “w”: its control group “/a” reached its memory limit",
        ),
        (
            KillDetails(limit=KillLimit.GROUP, group="/a", limit_bytes=2_000_000_000),
            "the kernel killed a process: its control group “/a” reached its memory limit of 2.00 GB",
        ),
        (
            KillDetails(limit=KillLimit.HOST, pid=5),
            "the kernel killed a process (pid 5): the memory of the host ran out",
        ),
        (
            KillDetails(limit=KillLimit.NUMA_NODES, process="w", owner="NUMA nodes 1"),
            "the kernel killed “w”: the memory of “NUMA nodes 1” ran out",
        ),
        (
            KillDetails(limit=KillLimit.NUMA_NODES, process="w"),
            "the kernel killed “w”: the memory of the NUMA nodes that it may use ran out",
        ),
    ],
)
def test_what_is_not_known_is_left_out(details: KillDetails, text: str) -> None:
    """Each sentence is complete without its missing parts."""
    assert sentence(cause_of(details, KillCause(KillLimit.UNKNOWN, 0.99)), 1) == text


def test_details_come_with_the_event_of_a_record() -> None:
    """They are shortened, and an event without them has none; equal events are one."""
    with_details = pb.HostEvent(
        kind="oom_kill", time_ns=5, oom_kill=pb.OomKill(limit=pb.OomKill.GROUP, group="/a" * 500, rank=0, kills=4)
    )
    extras = pb.Record(events=[with_details, pb.HostEvent(kind="oom_kill", time_ns=4)]).SerializeToString()
    bare, detailed = add_events((), extras)
    assert bare.kill is None
    assert detailed.kill is not None
    assert (detailed.kill.limit, detailed.kill.rank, detailed.kill.pid, detailed.kill.kills) == (
        KillLimit.GROUP,
        0,
        None,
        4,
    )
    assert len(detailed.kill.group) == 200
    assert add_events((bare, detailed), extras) == (bare, detailed)
    other = HostEvent(5, "oom_kill", "", 0, "", KillDetails(pid=1))
    assert len(merge_events((other,), [HostEvent(5, "oom_kill", "", 0, "")])) == 2


def test_a_limit_of_a_newer_agent_is_not_known() -> None:
    """Unknown numbers are accepted."""
    kill = pb.OomKill.FromString(pb.OomKill(pid=3).SerializeToString() + b"\x08\x63")
    extras = pb.Record(events=[pb.HostEvent(kind="oom_kill", oom_kill=kill)]).SerializeToString()
    [event] = add_events((), extras)
    assert event.kill is not None
    assert (event.kill.limit, event.kill.pid) == (KillLimit.UNKNOWN, 3)
