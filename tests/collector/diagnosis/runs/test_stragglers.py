"""Who holds a synchronous run up, where collectives make all steps equally long."""

import threading
from collections.abc import Mapping

import numpy as np
import pytest

from flyball_collector.engine.player import Key
from flyball_collector.engine.testing.runs import brief, gpu_key, host, play, step
from flyball_proto.v1 import telemetry_pb2 as pb

RANKS = 16

Step = tuple[float, float, float]


def barred(steps: int, slow: int, since: int, factor: float, rare: float = 0.0) -> list[list[Step]]:
    """(step, forward, wait) of each step of each rank: threads that meet at a real barrier; their clock is reckoned,
    since what a busy machine does to sleeping threads is not what is looked at. `rare`: share of steps with a pause."""
    arrived = [0.0] * RANKS
    barrier = threading.Barrier(RANKS)
    found: list[list[Step]] = [[] for _ in range(RANKS)]

    def train(rank: int) -> None:
        rng, now = np.random.default_rng(rank), 0.0
        for number in range(steps):
            work = 0.4 * float(np.exp(rng.normal(0, 0.02))) * (factor if rank == slow and number >= since else 1.0)
            work += float(rng.uniform(0.4, 4.0)) if rng.random() < rare else 0.0
            arrived[rank] = now + work
            barrier.wait(30)
            met = max(arrived)
            barrier.wait(30)  # all have read when the last one arrived
            found[rank].append((met - now, work, met - now - work))
            now = met

    threads = [threading.Thread(target=train, args=(rank,)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def reports(found: list[list[Step]], rank: int, second: int) -> pb.StepReport:
    took, forward, wait = found[rank][second]
    return step(rank, second, took, section_seconds={"forward": forward, "all_reduce": wait})


def test_a_straggler_among_sixteen_behind_a_real_barrier() -> None:
    """All steps are equally long; it is named by its own work and because it waits least, and nobody else is."""
    found = barred(200, slow=11, since=60, factor=2.5)
    told, _ = play(RANKS, range(200), lambda rank, second: reports(found, rank, second))
    events = brief(told, "straggler", "fail_slow")
    assert [(kind, state, rank) for _, kind, state, rank in events] == [("straggler", "raised", 11)]
    assert 120 <= events[0][0] <= 180
    (event,) = [event for event in told if event.kind.name == "straggler"]
    assert event.subject.host == "h11"
    assert "waits for the others least" in event.because
    assert event.evidence["own_seconds"] > 1.3 * event.evidence["peers_own_seconds"]


def test_nobody_straggles_behind_a_quiet_barrier() -> None:
    """Where all work alike, waiting is shared by chance."""
    found = barred(150, slow=0, since=0, factor=1.0)
    told, _ = play(RANKS, range(150), lambda rank, second: reports(found, rank, second))
    assert brief(told, "straggler", "fail_slow") == []


@pytest.mark.parametrize("rare", [0.01, 0.05])
def test_nobody_straggles_who_pauses_now_and_then(rare: float) -> None:
    """A pause for rubbish or for a file holds the others up once; that is no rank that is slow."""
    found = barred(300, slow=0, since=0, factor=1.0, rare=rare)
    told, _ = play(RANKS, range(300), lambda rank, second: reports(found, rank, second))
    assert brief(told, "straggler", "fail_slow") == []


def test_a_straggler_is_found_among_ranks_that_pause_now_and_then() -> None:
    """Rare pauses of all hide nobody who is always slow."""
    found = barred(200, slow=11, since=60, factor=2.5, rare=0.02)
    told, _ = play(RANKS, range(200), lambda rank, second: reports(found, rank, second))
    assert [(kind, rank) for _, kind, _, rank in brief(told, "straggler", "fail_slow")] == [("straggler", 11)]


def tenancies() -> dict[str, pb.Tenancy]:
    return {
        host(rank): pb.Tenancy(members=[pb.Member(pid=1, run="r", rank=rank, user="ann", gpus=[f"G{rank}"])])
        for rank in range(4)
    }


def test_a_low_clock_names_the_straggler_without_sections() -> None:
    """One group of evidence alone, so with little confidence."""

    def readings(rank: int, _: int) -> Mapping[Key, float]:
        clock = 1.2e9 if rank == 2 else 1.7e9
        return {
            gpu_key("gpu_sm_clock_hertz", f"G{rank}"): clock,
            gpu_key("gpu_utilization_ratio", f"G{rank}"): 1.0,
            gpu_key("gpu_power_watts", f"G{rank}"): 400.0,
        }

    noise = np.exp(np.random.default_rng(3).normal(0, 0.01, 200))
    told, _ = play(
        4,
        range(200),
        lambda rank, second: step(rank, second, 0.5 * float(noise[second])),
        readings=readings,
        tenancies=tenancies(),
    )
    assert [(kind, rank) for _, kind, _, rank in brief(told, "straggler")] == [("straggler", 2)]
    (event,) = [event for event in told if event.kind.name == "straggler"]
    assert event.confidence <= 0.6
    assert "clock is 71% of its peers'" in event.because


def test_one_that_waits_for_its_input_holds_the_others_up() -> None:
    """It is named although all steps are equally long; those that wait for it in collectives are not."""

    def told_by(rank: int, second: int) -> pb.StepReport:
        wait = 0.2 if rank == 1 else 0.005
        return step(rank, second, 0.5, data_wait_seconds=wait)

    told, _ = play(4, range(150), told_by)
    events = [(kind, rank) for _, kind, _, rank in brief(told, "straggler")]
    assert events == [("straggler", 1)]


def test_always_slower_in_an_asynchronous_run_is_nobodys_straggling() -> None:
    """Where steps are not equally long, more own work than the peers' holds nobody up."""

    def told_by(rank: int, second: int) -> pb.StepReport:
        own = 0.5 if rank == 3 else 0.3
        return step(rank, second, own, section_seconds={"forward": own})

    told, _ = play(4, range(200), told_by)
    assert brief(told, "straggler", "fail_slow") == []
