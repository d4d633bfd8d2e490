"""A rank dies in the middle of an adjustment: the job fares as it would without us, and no rank changes alone."""

import importlib.util
from pathlib import Path

import pytest

from tests.outside.adjustments.gloo_job import GlooJob

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
]


@pytest.mark.parametrize("committed", [False, True])
def test_a_rank_that_dies_splits_nobody(tmp_path: Path, committed: bool) -> None:
    """The other ranks end with the error of their collective, and have made the change together or not at all."""
    with GlooJob(tmp_path, 3) as job:
        offer = job.offer("size", 1, 4, ahead=400)
        job.wait_for(offer, "prepared")
        if committed:
            for agent in job.agents:
                agent.commit(offer)
            job.wait_for(offer, "applied", "aborted", ranks=(2,))
        job.processes[2].kill()
    assert 0 not in job.statuses
    first, second = job.sizes(0), job.sizes(1)
    both = first.keys() & second.keys()
    assert len(both) > 1
    assert {step: first[step] for step in both} == {step: second[step] for step in both}
