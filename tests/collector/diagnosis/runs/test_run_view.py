"""Statistics of a run from the known values of its ranks."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.engine.testing.runs import gpu_key, host, play, step
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.diagnosis.runs.one_run import runs_of

Value = st.one_of(st.floats(-1e6, 1e6), st.just(float("nan")))


@given(st.lists(st.lists(Value, min_size=1, max_size=9), max_size=6), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
def test_a_quantile_is_a_value_of_the_run(runs: list[list[float]], share: float) -> None:
    """It is the lower one of two values, and unknown if no value is known."""
    values = np.array([value for run in runs for value in run])
    known = [sorted(value for value in run if not math.isnan(value)) for run in runs]
    seen = runs_of([len(run) for run in runs])
    expected = [run[int((len(run) - 1) * share)] if run else float("nan") for run in known]
    np.testing.assert_array_equal(seen.quantile(values, share), np.array(expected))
    np.testing.assert_array_equal(seen.known(values), np.array([len(run) for run in known], dtype=np.int64))


def test_ranks_without_a_client_hold_gpus_of_their_run() -> None:
    """The GPU of a rank that has no client belongs to the run that a client has opened in the same job."""
    client = pb.Member(run="r", rank=0, source="client", gpus=["G"], labels={"job": "slurm-7"})
    other = pb.Member(run="slurm-7", rank=1, source="slurm", gpus=["G"])
    foreign = pb.Member(run="slurm-8", rank=1, source="slurm", gpus=["G"])
    tenancies = {host(rank): pb.Tenancy(members=[each]) for rank, each in enumerate((client, other, foreign))}
    busy = {gpu_key("gpu_utilization_ratio", "G"): 1.0}
    _, player = play(
        3,
        range(10),
        lambda rank, second: step(rank, second, 0.5) if rank == 0 else None,
        readings=lambda *_: busy,
        tenancies=tenancies,
    )
    assert player.diagnosis.view is not None
    seen = Runs().of(player.diagnosis.view)
    assert [subject.run for subject in seen.runs.names] == ["r"]
    assert seen.run_of_gpu.tolist() == [0, 0, -1]
    assert seen.work_of_gpu[0] == seen.work_of_gpu[1] != seen.work_of_gpu[2]
