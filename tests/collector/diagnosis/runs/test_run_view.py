"""Statistics of a run from the known values of its ranks."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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
