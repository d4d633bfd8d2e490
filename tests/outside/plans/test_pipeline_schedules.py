"""Tests of the activations that pipeline stages store, against the schedules of torch itself."""

import numpy as np
import pytest

from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.stages import in_flight, uneven_rounds

schedules = pytest.importorskip("torch.distributed.pipelining.schedules", reason="PyTorch is not installed")


def stored(stages: int, chunks: int, micro_batches: int, rank: int) -> int:
    """Return the most chunks of one rank whose activations torch's interleaved schedule stores at once."""
    schedule = schedules.ScheduleInterleaved1F1B.__new__(schedules.ScheduleInterleaved1F1B)  # without its processes
    schedule.pp_group_size, schedule.n_local_stages = stages, chunks
    schedule._n_microbatches = micro_batches
    schedule.number_of_rounds = max(1, micro_batches // stages)
    schedule.microbatches_per_round = micro_batches // schedule.number_of_rounds
    kinds = [each.computation_type.name for each in schedule._calculate_single_rank_operations(rank) if each]
    return int(np.cumsum([(each == "FORWARD") - (each == "FULL_BACKWARD") for each in kinds]).max())


@pytest.mark.parametrize(
    ("stages", "chunks", "micro_batches"), [(4, 2, 8), (4, 3, 4), (8, 2, 24), (4, 2, 10), (2, 5, 6)]
)
def test_stages_store_what_torchs_interleaved_schedule_stores(stages: int, chunks: int, micro_batches: int) -> None:
    """Each stage holds as many micro-batches as the schedule has computed forwards and not yet backwards."""
    layout = Layouts.of(ParallelLayout(devices=stages, pipeline=stages, interleave=chunks))
    batches = np.array([float(micro_batches)])
    assert not uneven_rounds(layout.pipeline, batches)[0]
    for rank in range(stages):
        flight = in_flight(layout, batches, np.array([float(rank)]))[0]
        assert chunks * flight == stored(stages, chunks, micro_batches, rank)
