"""All ranks change or none: a law over every order of messages, losses, doubles, delays and deaths."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.client.adjustments.simulated_job import (
    CHOICES,
    EXPIRES_SECONDS,
    CommonRegister,
    LastViewRegister,
    SimulatedJob,
    disturbed_job,
)

INDEX = st.integers(0, 40)
RANK = st.integers(0, 3)
EVENTS = st.one_of(
    st.tuples(st.just("deliver"), INDEX),
    st.tuples(st.just("deliver"), INDEX),
    st.tuples(st.just("answer"), INDEX),
    st.tuples(st.just("answer"), INDEX),
    st.tuples(st.just("step"), RANK),
    st.tuples(st.just("step"), RANK),
    st.tuples(st.just("double"), INDEX),
    st.tuples(st.just("lose"), INDEX),
    st.tuples(st.just("lose answer"), INDEX),
    st.tuples(st.just("wait"), RANK),
    st.tuples(st.just("offer"), st.integers(0, 3)),
    st.tuples(st.just("withdraw"), st.just(0)),
    st.tuples(st.just("kill"), RANK),
)


def happen(job: SimulatedJob, event: str, number: int) -> None:
    """Let something happen to a job."""
    rank = job.ranks[number % len(job.ranks)]
    match event:
        case "deliver" | "double":
            job.deliver(number, keep=event == "double")
        case "answer" | "lose answer":
            job.answer(number, lost=event == "lose answer")
        case "step":
            job.end_step(number)
        case "lose":
            job.lose(number)
        case "wait":
            rank.now += EXPIRES_SECONDS / 2
        case "offer":
            job.offer(CHOICES[number], ahead=3 + number)
        case "withdraw":
            job.withdraw("1")
        case "kill":
            rank.alive = False


@settings(max_examples=150, deadline=None)
@given(
    ranks=st.integers(2, 4),
    tried=st.booleans(),
    prepared=st.booleans(),
    events=st.lists(EVENTS, min_size=10, max_size=90),
)
def test_no_order_of_events_splits_the_ranks(
    ranks: int, tried: bool, prepared: bool, events: list[tuple[str, int]]
) -> None:
    """Whatever happens to messages, clocks and ranks, all ranks have the same value after the same step."""
    job = SimulatedJob(ranks, tried_first=tried)
    job.offer(4, ahead=4)
    if prepared:  # then the commit is on its way to each of them
        for _ in range(ranks):
            job.deliver(0)
            job.answer(0)
    for event, number in events:
        happen(job, event, number)
    job.finish(20)
    assert job.split_steps() == []


def test_two_thousand_disturbed_offers_split_no_rank() -> None:
    """With 8 % of the orders lost and others late or doubled, offers commit or abort on all ranks alike."""
    job = disturbed_job(Random(27), ranks=3, offers=2000, register=CommonRegister)
    assert job.split_steps() == []
    assert len({value for rank in job.ranks for value in rank.history}) > 1  # some were committed


def test_messages_alone_split_the_ranks() -> None:
    """The same disturbances without a register do split ranks, so the test above can fail."""
    job = disturbed_job(Random(27), ranks=3, offers=100, register=LastViewRegister)
    assert job.split_steps() != []


def test_without_disturbances_offers_are_committed() -> None:
    """If every message arrives in time, every offer is committed, and all ranks change at its step."""
    job = SimulatedJob(3)
    for number in range(100):
        job.offer(CHOICES[(number + 1) % 4], ahead=6)
        for _ in range(3):  # offers, answers, commits
            while job.messages:
                job.deliver(0)
            for _ in range(3):
                job.answer(0)
        for _ in range(8):
            for rank in range(3):
                job.end_step(rank)
    assert len(job.committed) == 100
    assert job.split_steps() == []
    assert job.ranks[0].history.count(1) < len(job.ranks[0].history) / 2
