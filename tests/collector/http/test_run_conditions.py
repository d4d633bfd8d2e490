"""The active conditions of a run: its own, and those of its hosts."""

import numpy as np
import pytest

from flyball_collector.diagnosis.subject import Subject
from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot, Scores
from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.kill_details import KillDetails, KillLimit
from flyball_collector.fleet.runs import RunPhase
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.diagnosis_answers import primary_of
from flyball_collector.http.run_conditions import ActiveIndex
from flyball_collector.http.run_lookup import Rank, conditions_of
from flyball_collector.http.testing import make_parts
from flyball_collector.timeline.entry import Entry, entry_of
from flyball_collector.timeline.testing import make_event
from flyball_proto.v1 import telemetry_pb2 as pb

OF_RUN = make_event("run_slow", subject=Subject(run="r"))
OF_RANK = make_event("straggler", subject=Subject("a", run="r", rank=1))
OF_HOST = make_event("disk_full", subject=Subject("b", resource="/data"))
OF_GPUS = [make_event("gpu_ecc", subject=Subject("b", gpu)) for gpu in ("GPU-0", "GPU-1")]
OTHER_RUN = make_event("run_hang", subject=Subject("b", run="other"))
OTHER_HOST = make_event("oom_kill", subject=Subject("c"))


def with_events(*held: str) -> CollectorParts:
    """Return the parts of a fleet whose run holds these GPUs of host b, with conditions everywhere."""
    parts = make_parts()
    if held:
        member = pb.Member(run="r", rank=0, gpus=held, pid=5)
        parts.fleet.ensure("b").tenancy = pb.Tenancy(members=[member])
        parts.fleet.runs.advance(parts.clock(), {host.name: host for host in parts.fleet.hosts()})
    parts.timeline.add_events([OF_RUN, OF_RANK, OF_HOST, *OF_GPUS, OTHER_RUN, OTHER_HOST])
    return parts


def kinds(entries: list[Entry]) -> list[tuple[str, str]]:
    return [(entry.kind, entry.gpu) for entry in entries]


def test_those_of_its_hosts_are_separate_from_its_own() -> None:
    """Hosts are those of its ranks, its processes and its conditions; those of other runs there are not its own."""
    found = ActiveIndex(with_events()).of_run("r", ["b"], None)
    assert {entry.kind for entry in found.own} == {"run_slow", "straggler"}
    assert kinds([*found.of_hosts]) == [("gpu_ecc", "GPU-0"), ("gpu_ecc", "GPU-1"), ("disk_full", "")]
    assert found.all == [*found.own, *found.of_hosts]
    assert found.hosts() == {"a"}


def test_a_gpu_that_the_run_does_not_hold_is_not_its_problem() -> None:
    """Two runs may share a host. Where it is unknown which GPUs a run holds, all of them count."""
    parts = with_events("GPU-1")
    found = ActiveIndex(parts).of_run("r", [], parts.fleet.seen_runs(parts.clock(), 30.0)["r"])
    assert kinds([*found.of_hosts]) == [("gpu_ecc", "GPU-1"), ("disk_full", "")]


def test_what_happens_on_its_hosts_after_a_run_ended_is_not_counted() -> None:
    """Its own conditions that are still active are."""
    parts = with_events("GPU-1")
    seen = parts.fleet.seen_runs(parts.clock(), 30.0)["r"]
    found = ActiveIndex(parts).of_run("r", ["b"], seen._replace(phase=RunPhase.ENDED))
    assert (len(found.own), found.of_hosts) == (2, ())


def test_a_run_without_processes_ends_when_its_reports_end() -> None:
    """While it reports, problems of its hosts are its own; later they are not, if the hosts still report."""
    parts = with_events()
    for name in "ab":
        parts.fleet.ensure(name).received_ns = parts.clock()
    now = parts.clock() / 1e9
    for seconds_ago, of_hosts in ((5, 3), (200, 0)):
        rank: Rank = {"host": "b", "received": now - seconds_ago}
        found = conditions_of(parts, ActiveIndex(parts), "r", [rank], None)
        assert (len(found.own), len(found.of_hosts)) == (2, of_hosts)


def snapshot(name: str, bottleneck: str, score: float) -> DiagnosisSnapshot:
    scores = Scores([name], [], [(bottleneck, np.array([score]))])
    return DiagnosisSnapshot(scores=scores, primary=[(name, bottleneck)])


def bottleneck_of_run(name: str, level: float) -> Entry:
    return entry_of(make_event(f"bottleneck_{name}", subject=Subject(run="r"), level=level, confidence=1.0))


def test_the_headline_of_a_run_is_what_costs_its_hosts_most() -> None:
    """One host that waits 60 % counts more than two that wait 20 %; the run's own bottleneck costs every host."""
    disk, cpus = snapshot("a", "disk", 0.6), [snapshot(name, "cpu", 0.2) for name in "bc"]
    assert primary_of([disk, *cpus]) == "disk"
    assert primary_of([disk, *cpus], [bottleneck_of_run("communication", 0.5)]) == "communication"
    assert primary_of([disk, *cpus], [bottleneck_of_run("communication", 0.1)]) == "disk"
    assert primary_of([]) is None


def test_busy_gpus_are_not_the_headline_where_a_host_loses_time() -> None:
    """A busy GPU is use, not lost time; without any lost time, it is what limits the run."""
    gpus = [snapshot(f"gpu-{number}", "gpu_compute", 0.95) for number in range(7)]
    assert primary_of([*gpus, snapshot("a", "disk", 0.3)]) == "disk"
    assert primary_of(gpus) == "gpu_compute"


def test_a_bottleneck_with_an_unknown_score_is_named_if_it_is_the_only_one() -> None:
    """It is active, so it comes before none."""
    assert primary_of([snapshot("a", "disk", float("nan"))]) == "disk"


def test_a_kill_at_the_limit_of_another_job_is_the_problem_of_that_job_alone() -> None:
    """It is listed for the run that it hit, and on the page of its host. Memory of the host concerns all of them."""
    parts = with_killed("other")
    assert {run: kills_of(parts, run) for run in ("r", "other")} == {"r": 0, "other": 1}
    assert [entry.kind for entry in parts.timeline.active() if entry.host == "b"] == ["oom_kill"]
    parts = with_killed("other", limit_of_a_group=0.0)
    assert {run: kills_of(parts, run) for run in ("r", "other")} == {"r": 1, "other": 1}


@pytest.mark.parametrize("skew_seconds", [None, 5000, -5000])
def test_of_several_kills_each_is_the_problem_of_its_run(skew_seconds: int | None) -> None:
    """The sentence names only the last one; the host notes each, by its own clock. Old ones do not count."""
    parts = with_killed("other")
    parts.fleet.ensure("b").clock_skew_seconds = skew_seconds
    raised_ns = parts.timeline.active()[0].raised_ns + (skew_seconds or 0) * 10**9
    for run, seconds in (("r", 20), ("early", 3600)):
        kill = KillDetails(limit=KillLimit.GROUP, run=run)
        event = HostEvent(raised_ns - seconds * 10**9, "oom_kill", "python", 7, "", kill)
        parts.fleet.ensure("b").events += (event,)
    assert {run: kills_of(parts, run) for run in ("r", "other", "early")} == {"r": 1, "other": 1, "early": 0}


def with_killed(run: str, limit_of_a_group: float = 1.0) -> CollectorParts:
    """Return the parts of a fleet in which a process of a run was killed on host b."""
    parts = make_parts()
    because = f"the kernel killed “python” (pid 7, rank 0 of run “{run}”)"
    evidence = {"limit_of_a_group": limit_of_a_group}
    parts.timeline.add_events([make_event("oom_kill", subject=Subject("b"), because=because, evidence=evidence)])
    return parts


def kills_of(parts: CollectorParts, run: str) -> int:
    return len(ActiveIndex(parts).of_run(run, ["b"], None).of_hosts)
