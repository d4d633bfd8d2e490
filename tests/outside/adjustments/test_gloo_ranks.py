"""Real ranks with gloo and real sockets: they decide alike in the store of their job, whatever reaches them."""

import importlib.util
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.client.adjustments.adjusting_agent import wait_until
from tests.outside.adjustments.disturbances import SPLIT, disturbed_offer
from tests.outside.adjustments.gloo_job import GlooJob

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

RANKS = 3


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GlooJob]:
    """Yield a job of three ranks that trains during all tests of this file."""
    with GlooJob(tmp_path_factory.mktemp("job"), RANKS) as running:
        yield running
    assert running.statuses == [0] * RANKS


def other_size(job: GlooJob) -> int:
    """Return a size that the job does not have now."""
    return 8 if job.size != 8 else 2


def committed(job: GlooJob, name: str, from_: object, to: object) -> list[dict[str, Any]]:
    """Make a change, and return the last answers. A busy machine may need a later step for it."""
    answers: list[dict[str, Any]] = []
    for ahead in (150, 600, 2400):
        offer = job.offer(name, from_, to, ahead)
        job.wait_for(offer, "prepared")
        for agent in job.agents:
            agent.commit(offer)
        answers = job.wait_for(offer, "applied", "aborted")
        if answers[0]["kind"] == "applied":
            break
    assert {answer["kind"] for answer in answers} == {"applied"}
    return answers


def rests(job: GlooJob, rank: int, field: str) -> float:
    """Return the seconds that a rank has reported under this name."""
    return float(sum(line.get(field, 0.0) for line in job.agents[rank].of_kind("steps")))


def alike(job: GlooJob) -> None:
    """Check that all ranks have written the same changes after the same steps."""
    past = max(job.step(rank) for rank in job.ranks) + 1
    wait_until("all ranks have gone past this step", lambda: all(job.step(rank) > past for rank in job.ranks))
    assert len({tuple(job.log(rank)) for rank in job.ranks}) == 1


def test_a_committed_change_is_made_by_all_ranks_at_one_step(job: GlooJob) -> None:
    """All ranks answer with the same step and the same observed value."""
    size = other_size(job)
    answers = committed(job, "size", job.size, size)
    assert len({(answer["step"], answer["observed"]) for answer in answers}) == 1
    assert answers[0]["observed"] == size
    alike(job)


def test_a_change_that_nobody_commits_is_made_by_no_rank(job: GlooJob) -> None:
    """Without a commit, all ranks abort at the step."""
    before = job.log(0)
    offer = job.offer("size", job.size, other_size(job))
    job.wait_for(offer, "prepared")
    job.wait_for(offer, "aborted")
    alike(job)
    assert job.log(0) == before


def test_a_commit_that_reaches_one_rank_alone_decides_for_all_or_none(job: GlooJob) -> None:
    """The first rank at the boundary decides, and it is the same for all."""
    offer = job.offer("size", job.size, other_size(job))
    job.wait_for(offer, "prepared")
    job.agents[1].commit(offer)
    answers = job.wait_for(offer, "applied", "aborted")
    assert len({answer["kind"] for answer in answers}) == 1
    alike(job)


def test_a_rank_whose_agent_is_away_follows_the_others(job: GlooJob) -> None:
    """A rank that is prepared and loses its agent asks the register at its step, and goes the way of the others."""
    offer = job.offer("size", job.size, other_size(job))
    job.wait_for(offer, "prepared")
    job.agents[2].socket.hang_up()
    for agent in job.agents[:2]:
        agent.commit(offer)
    job.wait_for(offer, "applied", "aborted", ranks=(0, 1))
    job.accept(2)
    job.wait_for(offer, "applied", "aborted")
    alike(job)


def test_a_forced_checkpoint_is_due_on_all_ranks_after_one_step(job: GlooJob) -> None:
    """All ranks answer `should_checkpoint` alike, so that a collective that writes it cannot hang."""
    committed(job, "checkpoint_now", False, True)
    wait_until("all ranks write it", lambda: all("checkpoint" in " ".join(job.log(rank)) for rank in job.ranks))
    alike(job)


def test_throttled_ranks_go_on_together(job: GlooJob) -> None:
    """All ranks sleep between their steps, report it, and stop when the inverse is offered."""
    committed(job, "throttle", 0, 0.5)
    wait_until("all ranks report it", lambda: all(rests(job, rank, "throttled_seconds") > 0.1 for rank in job.ranks))
    committed(job, "throttle", 0.5, 0)
    alike(job)


def test_paused_ranks_wait_and_resume(job: GlooJob) -> None:
    """All ranks wait at one boundary and report each second, until the inverse reaches them."""
    committed(job, "pause", False, True)
    wait_until("all ranks report it", lambda: all(rests(job, rank, "paused_seconds") > 0.1 for rank in job.ranks))
    assert len({job.step(rank) for rank in job.ranks}) == 1
    committed(job, "pause", True, False)
    alike(job)


def test_disturbed_offers_split_no_rank(job: GlooJob) -> None:
    """With orders and answers lost, late and doubled, each offer changes all ranks or none."""
    outcomes = [disturbed_offer(job, Random(number)) for number in range(8)]
    assert SPLIT not in outcomes
    alike(job)


def test_the_register_is_that_of_the_job(job: GlooJob) -> None:
    """There is none before the process group, and none for a run whose ranks are not those of the group."""
    for rank in job.ranks:
        facts = job.facts(rank)
        assert facts["before"] == ["none", "local"]
        assert facts["during"] == ["c10d", "none"]


def test_the_smallest_timeout_limits_a_pause(job: GlooJob) -> None:
    """A quarter of the smallest timeout of all groups counts, also of one that was created later."""
    for rank in job.ranks:
        assert job.facts(rank)["longest"] == [20.0, 5.0]


def test_each_store_of_pytorch_decides_once(job: GlooJob) -> None:
    """The first thing that is written is what everybody reads, whatever they want themselves."""
    for store in ("tcp", "file"):
        (decisions,) = {tuple(job.facts(rank)["decisions"][store]) for rank in job.ranks}
        assert decisions[0] in {f"wish of {rank}" for rank in job.ranks}
        assert decisions == (decisions[0],) * 3 + ("",)
    assert job.facts(1)["decisions"]["hash"] == ["wish of 1"] * 3 + [""]
