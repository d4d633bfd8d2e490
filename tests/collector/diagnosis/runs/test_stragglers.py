"""Stragglers in synchronous runs, where collectives make all steps equally long."""

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
    """Return (step, forward, wait) of each step of each rank: threads that meet at a real barrier.

    Times are computed and not measured, because a busy machine delays sleeping threads. `rare`: share of steps with a
    pause.
    """
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
            last = max(arrived)
            barrier.wait(30)  # all have read when the last one arrived
            found[rank].append((last - now, work, last - now - work))
            now = last

    threads = [threading.Thread(target=train, args=(rank,)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def reports(found: list[list[Step]], rank: int, second: int) -> pb.StepReport:
    took, forward, wait = found[rank][second]
    return step(rank, second, took, section_seconds={"forward": forward, "all_reduce": wait})


def test_a_straggler_among_sixteen_ranks_at_a_real_barrier() -> None:
    """All steps are equally long. Only the straggler is reported: for its own work, and because it waits least."""
    found = barred(200, slow=11, since=60, factor=2.5)
    played, _ = play(RANKS, range(200), lambda rank, second: reports(found, rank, second))
    events = brief(played, "straggler", "fail_slow")
    assert [(kind, state, rank) for _, kind, state, rank in events] == [("straggler", "raised", 11)]
    assert 63 <= events[0][0] <= 66
    (event,) = [event for event in played if event.kind.name == "straggler"]
    assert event.subject.host == "h11"
    assert "2.50 times as long" in event.because
    assert event.evidence["own_seconds"] > 1.3 * event.evidence["peers_own_seconds"]


def test_without_a_straggler_nothing_is_reported() -> None:
    """If all ranks do the same work, waiting times are random."""
    found = barred(150, slow=0, since=0, factor=1.0)
    played, _ = play(RANKS, range(150), lambda rank, second: reports(found, rank, second))
    assert brief(played, "straggler", "fail_slow") == []


@pytest.mark.parametrize("rare", [0.01, 0.05])
def test_ranks_with_rare_pauses_are_not_stragglers(rare: float) -> None:
    """A pause for garbage collection or a file holds up the others once."""
    found = barred(300, slow=0, since=0, factor=1.0, rare=rare)
    played, _ = play(RANKS, range(300), lambda rank, second: reports(found, rank, second))
    assert brief(played, "straggler", "fail_slow") == []


def test_a_straggler_is_found_among_ranks_with_rare_pauses() -> None:
    """Rare pauses of all ranks do not hide one that is always slow."""
    found = barred(200, slow=11, since=60, factor=2.5, rare=0.02)
    played, _ = play(RANKS, range(200), lambda rank, second: reports(found, rank, second))
    assert [(kind, rank) for _, kind, _, rank in brief(played, "straggler", "fail_slow")] == [("straggler", 11)]


@pytest.mark.parametrize("factor", [1.5, 1.9])
def test_a_straggler_from_the_start_is_named_after_a_few_reports(factor: float) -> None:
    """Its peers show what is usual, so no past is needed."""
    found = barred(12, slow=3, since=0, factor=factor)
    played, _ = play(RANKS, range(12), lambda rank, second: reports(found, rank, second))
    ((second, kind, _, rank),) = brief(played, "straggler", "fail_slow")
    assert (kind, rank) == ("straggler", 3)
    assert second <= 7


def test_a_straggler_that_is_a_fifth_slower_is_named_within_twenty_reports() -> None:
    """All ranks wait for it, though its own work takes little longer than that of the others."""
    found = barred(60, slow=5, since=30, factor=1.22)
    played, _ = play(RANKS, range(60), lambda rank, second: reports(found, rank, second))
    ((second, _, _, rank),) = brief(played, "straggler", "fail_slow")
    assert rank == 5
    assert second <= 50


def test_ranks_with_unequal_work_by_design_are_not_stragglers() -> None:
    """The stages of a pipeline differ by a fifth from each other, from the first step to the last."""
    rng = np.random.default_rng(6)
    work = 0.3 * np.repeat([0.8, 0.9, 1.0, 1.1], 4) * np.exp(rng.normal(0, 0.02, (200, RANKS)))

    def report(rank: int, second: int) -> pb.StepReport:
        own = float(work[second, rank])
        return step(rank, second, 0.5, section_seconds={"forward": own, "all_reduce": 0.5 - own})

    played, _ = play(RANKS, range(200), report)
    assert brief(played, "straggler", "fail_slow") == []


def tenancies() -> dict[str, pb.Tenancy]:
    return {
        host(rank): pb.Tenancy(members=[pb.Member(pid=1, run="r", rank=rank, user="ann", gpus=[f"G{rank}"])])
        for rank in range(4)
    }


def test_a_low_clock_shows_the_straggler_without_sections() -> None:
    """It is the only sign, so the confidence is low."""

    def readings(rank: int, _: int) -> Mapping[Key, float]:
        clock = 1.2e9 if rank == 2 else 1.7e9
        return {
            gpu_key("gpu_sm_clock_hertz", f"G{rank}"): clock,
            gpu_key("gpu_utilization_ratio", f"G{rank}"): 1.0,
            gpu_key("gpu_power_watts", f"G{rank}"): 400.0,
        }

    noise = np.exp(np.random.default_rng(3).normal(0, 0.01, 200))
    played, _ = play(
        4,
        range(200),
        lambda rank, second: step(rank, second, 0.5 * float(noise[second])),
        readings=readings,
        tenancies=tenancies(),
    )
    assert [(kind, rank) for _, kind, _, rank in brief(played, "straggler")] == [("straggler", 2)]
    (event,) = [event for event in played if event.kind.name == "straggler"]
    assert event.confidence <= 0.6
    assert "clock is 71 % of its peers'" in event.because


def test_a_rank_that_waits_for_input_holds_up_the_others() -> None:
    """It is reported although all steps are equally long; the ranks that wait for it in collectives are not."""

    def report(rank: int, second: int) -> pb.StepReport:
        wait = 0.2 if rank == 1 else 0.005
        return step(rank, second, 0.5, data_wait_seconds=wait)

    played, _ = play(4, range(150), report)
    events = [(kind, rank) for _, kind, _, rank in brief(played, "straggler")]
    assert events == [("straggler", 1)]


def test_a_slower_rank_in_an_asynchronous_run_is_not_a_straggler() -> None:
    """If steps are not equally long, more work on one rank holds up no other."""

    def report(rank: int, second: int) -> pb.StepReport:
        own = 0.5 if rank == 3 else 0.3
        return step(rank, second, own, section_seconds={"forward": own})

    played, _ = play(4, range(200), report)
    assert brief(played, "straggler", "fail_slow") == []
