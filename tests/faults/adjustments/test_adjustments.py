"""A rank, the agent or the collector is killed at each point of an adjustment: no change is made by one rank alone."""

import contextlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.adjusted_jobs import (
    NEVER,
    SETTINGS,
    AdjustedJob,
    JobLauncher,
    adjustment,
    answer_of,
    job_launcher,
    propose,
    wait_until_known,
)
from tests.processes import Agent, Collector, GaveUp, wait_for

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
]

OVER = {"kept", "rolled_back", "undone", "vetoed", "aborted", "expired", "withdrawn", "failed"}
STEPS_AFTER = 10
TRIES = 5
REFUSED = {"vetoed", "aborted", "expired"}
LAST_VALUE = 4

Offer = dict[str, Any]


@dataclass
class Fleet:
    """A collector, an agent and the launcher of jobs that report to it."""

    collector: Collector
    agent: Agent
    launcher: JobLauncher

    def start(self, prefix: str) -> dict[str, AdjustedJob]:
        """Start a job for each point, and wait until the collector knows their values."""
        jobs = {point: self.launcher.start(f"{prefix}-{point}") for point in POINTS}
        for job in jobs.values():
            wait_until_known(self.collector, job)
        return jobs

    def state(self, offer: Offer) -> str:
        """Return the state of an adjustment."""
        return str(adjustment(self.collector, offer["id"])["state"])


@contextlib.contextmanager
def running_fleet(folder: Path) -> Iterator[Fleet]:
    """Run all of them with adjustments enabled."""
    with ExitStack() as stack:
        collector = stack.enter_context(Collector(folder / "collector", SETTINGS)).start_ready()
        agent = stack.enter_context(Agent(folder / "agent", collector.grpc_port, {"adjustments.enabled": "true"}))
        agent.start()
        wait_for("the agent listens", agent.socket.exists)
        yield Fleet(collector, agent, stack.enter_context(job_launcher(folder / "jobs", agent.socket)))


def offered(fleet: Fleet, job: AdjustedJob) -> Offer:
    """Offer a change while neither rank reads its socket."""
    job.hold(0)
    job.hold(1)
    offer = propose(fleet.collector, job.name, 2)
    wait_for("it is offered", lambda: fleet.state(offer) == "offered")
    return offer


def prepared(fleet: Fleet, job: AdjustedJob) -> Offer:
    """Offer a change for which one rank is prepared; the other one reads nothing."""
    job.hold(1)
    offer = propose(fleet.collector, job.name, 2)

    def is_prepared() -> bool:
        answer = answer_of(adjustment(fleet.collector, offer["id"]), 0)
        return answer is not None and answer["verdict"] == "prepared"

    wait_for("rank 0 is prepared", is_prepared)
    return offer


def committed(fleet: Fleet, job: AdjustedJob) -> Offer:
    """Offer a change that is committed; neither rank has come to its step."""
    offer = proposed_until(fleet, job, "committed")
    for rank in (0, 1):
        job.hold(rank, at_step(fleet, offer) - 2)
    return offer


def at_its_step(fleet: Fleet, job: AdjustedJob) -> Offer:
    """Offer a change that one rank has made; the other one is before its step."""
    offer = committed(fleet, job)
    at = at_step(fleet, offer)
    job.hold(0, NEVER)
    wait_for("rank 0 has passed the step", lambda: job.step(0) > at)
    return offer


def applied(fleet: Fleet, job: AdjustedJob) -> Offer:
    """Offer a change that both ranks have made."""
    return proposed_until(fleet, job, "applied")


def proposed_until(fleet: Fleet, job: AdjustedJob, state: str) -> Offer:
    """Offer a change until one comes to a state. On a busy machine a rank may read an offer too late and refuse it."""
    for _ in range(TRIES):
        offer = propose(fleet.collector, job.name, 2)
        wait_for(f"it is {state}", lambda: fleet.state(offer) in {state, *OVER}, pause_seconds=0.1)  # noqa: B023  waited for
        if fleet.state(offer) == state:
            return offer
    raise GaveUp(f"{job.name}: no offer of {TRIES} was {state}: {adjustment(fleet.collector, offer['id'])}")


POINTS: Mapping[str, Callable[[Fleet, AdjustedJob], Offer]] = {
    "offered": offered,
    "prepared": prepared,
    "committed": committed,
    "at-its-step": at_its_step,
    "applied": applied,
}


def bring_to_points(fleet: Fleet, prefix: str) -> dict[str, tuple[AdjustedJob, Offer]]:
    """Start a job for each point, and bring each to it."""
    jobs = fleet.start(prefix)
    with ThreadPoolExecutor(len(POINTS)) as pool:
        offers = pool.map(lambda point: POINTS[point](fleet, jobs[point]), POINTS)
        return {point: (jobs[point], offer) for point, offer in zip(POINTS, offers, strict=True)}


def at_step(fleet: Fleet, offer: Offer) -> int:
    """Return the step of an offer."""
    return int(adjustment(fleet.collector, offer["id"])["at_step"])


def goes_on(job: AdjustedJob, rank: int) -> None:
    """Wait until a rank has made more steps."""
    before = job.step(rank)
    wait_for(f"rank {rank} of {job.name} goes on", lambda: job.step(rank) >= before + STEPS_AFTER)


def past_its_step(fleet: Fleet, job: AdjustedJob, offer: Offer, rank: int) -> None:
    """Wait until a rank has passed the step of an offer."""
    at = at_step(fleet, offer)
    wait_for(f"rank {rank} of {job.name} passes the step", lambda: job.step(rank) > at + STEPS_AFTER)


def ends_well(job: AdjustedJob, ranks: tuple[int, ...]) -> None:
    """Check that these ranks end with status 0, and that both ranks had the same value in each step."""
    job.end()
    wait_for(f"{job.name} has ended", lambda: all(rank in job.statuses for rank in ranks))
    assert [job.statuses[rank] for rank in ranks] == [0] * len(ranks)
    assert job.split_steps() == []


def is_over(fleet: Fleet, offer: Offer) -> None:
    """Wait until an adjustment is over."""
    wait_for(f"the offer {offer['id']} is over", lambda: fleet.state(offer) in OVER, seconds=120, pause_seconds=0.2)


def is_settled(fleet: Fleet, offer: Offer) -> None:
    """Wait until an adjustment was made by all ranks, or is over. How its effect is measured is not tested here."""
    settled = {*OVER, "applied"}
    wait_for(f"{offer['id']} is settled", lambda: fleet.state(offer) in settled, seconds=120, pause_seconds=0.2)


def kill_ranks(fleet: Fleet) -> dict[str, str]:
    """Kill a rank at each point. Return how the adjustments ended."""
    jobs = bring_to_points(fleet, "rank")
    for point, (job, _) in jobs.items():
        job.kill(0 if point == "committed" else 1)  # rank 0 holds the store in which both decide
        job.release()
    for point, (job, offer) in jobs.items():
        left = 1 if point == "committed" else 0
        past_its_step(fleet, job, offer, left)
        ends_well(job, (left,))
    for point, (_, offer) in jobs.items():
        if point != "applied":  # its effect is measured for as long as reports may come
            is_over(fleet, offer)
    return {point: fleet.state(offer) for point, (_, offer) in jobs.items()}


def kill_daemon(fleet: Fleet, daemon: Agent | Collector) -> dict[str, str]:
    """Kill the agent or the collector at each point, and start it again. Return how the adjustments ended."""
    jobs = bring_to_points(fleet, "daemon")
    daemon.kill()
    for job, _ in jobs.values():
        job.release()
        goes_on(job, 0)
    if isinstance(daemon, Collector):
        daemon.start_ready()
    else:
        daemon.start()
    for job, offer in jobs.values():
        for rank in (0, 1):
            past_its_step(fleet, job, offer, rank)
        is_settled(fleet, offer)
    another_one(fleet, free_job(fleet, jobs))
    for job, _ in jobs.values():
        ends_well(job, (0, 1))
    return {point: fleet.state(offer) for point, (_, offer) in jobs.items()}


def free_job(fleet: Fleet, jobs: Mapping[str, tuple[AdjustedJob, Offer]]) -> AdjustedJob:
    """Return a job in which the effect of no change is being measured, as soon as there is one."""

    def found() -> AdjustedJob | None:
        return next((job for job, offer in jobs.values() if fleet.state(offer) in OVER), None)

    return wait_for("a job is free", found, seconds=240, pause_seconds=0.2)


def another_one(fleet: Fleet, job: AdjustedJob) -> None:
    """Offer another change until both ranks have made it: on a busy machine a rank may read an offer too late."""
    wait_until_known(fleet.collector, job)

    def is_made() -> bool:
        return job.newest(0) == job.newest(1) == LAST_VALUE

    for _ in range(TRIES):
        offer = propose(fleet.collector, job.name, LAST_VALUE)
        wait_for("it is made or refused", lambda: is_made() or fleet.state(offer) in REFUSED)  # noqa: B023  waited for
        if is_made():
            return
    raise GaveUp(f"{job.name}: no offer of {TRIES} was made: {adjustment(fleet.collector, offer['id'])}")


@pytest.fixture(scope="module")
def kills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, "Future[dict[str, str]]"]]:
    """All kills, each in a fleet of its own at the same time, because most of it is waiting."""
    with ExitStack() as stack:
        starting = [running_fleet(tmp_path_factory.mktemp("fleet")) for _ in range(3)]
        with ThreadPoolExecutor(3) as pool:
            fleets = list(pool.map(stack.enter_context, starting))
        pool = stack.enter_context(ThreadPoolExecutor(3))
        yield {
            "rank": pool.submit(kill_ranks, fleets[0]),
            "agent": pool.submit(kill_daemon, fleets[1], fleets[1].agent),
            "collector": pool.submit(kill_daemon, fleets[2], fleets[2].collector),
        }


def test_a_killed_rank_changes_nothing_alone(kills: Mapping[str, "Future[dict[str, str]]"]) -> None:
    """At each of the five points the other rank goes on, no step had two values, and the offer ends."""
    states = kills["rank"].result()
    assert {states["offered"], states["prepared"]} <= {"vetoed", "aborted", "expired", "withdrawn"}
    assert states["committed"] in {"aborted", "failed", "withdrawn"}, "the store of the job has gone with rank 0"


@pytest.mark.parametrize("killed", ["agent", "collector"])
def test_a_killed_daemon_changes_nothing_in_a_part_of_the_ranks(
    killed: str, kills: Mapping[str, "Future[dict[str, str]]"]
) -> None:
    """At each of the five points both ranks go on and agree in each step, the offer ends, and the next one is made."""
    states = kills[killed].result()
    assert "failed" not in states.values()
