"""Offers to real ranks over a network that loses, doubles and delays messages.

`python -m tests.outside.adjustments.disturbances OFFERS` prints how many were committed, aborted and split.
"""

import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tests.client.adjustments.adjusting_agent import PATIENCE_SECONDS
from tests.outside.adjustments.gloo_job import GlooJob

COMMITTED, ABORTED, SPLIT = "committed", "aborted", "split"
LOST_ORDERS, LOST_ANSWERS, DOUBLED = 0.08, 0.05, 0.10
LONGEST_DELAY_SECONDS = 0.03
AHEAD = 80
RANKS = 3


def main() -> None:
    """Disturb a job and print the outcomes."""
    random = Random(27)
    with tempfile.TemporaryDirectory() as folder, GlooJob(Path(folder), RANKS) as job:
        outcomes = [disturbed_offer(job, random) for _ in range(int(sys.argv[1]))]
    print({outcome: outcomes.count(outcome) for outcome in (COMMITTED, ABORTED, SPLIT)})


def disturbed_offer(job: GlooJob, random: Random) -> str:
    """Offer another size to all ranks. Return what became of it after all of them have passed the step."""
    offer, at = f"{random.getrandbits(64):016x}", max(job.step(rank) for rank in job.ranks) + AHEAD
    before, size = job.size, random.choice([size for size in (1, 2, 4, 8) if size != job.size])
    orders = _orders(job, random, "offer")
    answered: set[int] = set()
    prepared: set[int] = set()
    is_sent = False
    deadline = time.monotonic() + PATIENCE_SECONDS
    while any(job.step(rank) <= at + 2 for rank in job.ranks):
        assert time.monotonic() < deadline, "the job does not go on"
        for _, rank, kind in [each for each in orders if each[0] <= time.monotonic()]:
            if kind == "offer":
                job.agents[rank].offer("size", before, size, at, id=offer)
            else:
                job.agents[rank].commit(offer)
        orders = [each for each in orders if each[0] > time.monotonic()]
        for rank, agent in enumerate(job.agents):
            if rank not in answered and agent.answers(offer):
                answered.add(rank)
                prepared |= {rank} if random.random() > LOST_ANSWERS else set()
        if not is_sent and prepared >= set(job.ranks):
            is_sent = True
            orders += _orders(job, random, "commit")
        time.sleep(0.002)
    return _outcome(job, offer)


def _orders(job: GlooJob, random: Random, kind: str) -> list[tuple[float, int, str]]:
    """Return when a message reaches which rank: later, twice, or never."""
    found = []
    for rank in job.ranks:
        copies = 0 if random.random() < LOST_ORDERS else 2 if random.random() < DOUBLED else 1
        now = time.monotonic()
        found += [(now + random.uniform(0, LONGEST_DELAY_SECONDS), rank, kind) for _ in range(copies)]
    return found


def _outcome(job: GlooJob, offer: str) -> str:
    last = [answers[-1]["kind"] if (answers := agent.answers(offer)) else "none" for agent in job.agents]
    if "applied" not in last:
        return ABORTED
    return COMMITTED if set(last) == {"applied"} else SPLIT


if __name__ == "__main__":
    main()
