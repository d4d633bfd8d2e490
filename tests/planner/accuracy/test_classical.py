"""Compare predictions for boosted trees with published benchmarks."""

import pytest

from flyball_planner.accuracy.classical import FILE, judge_classical
from flyball_planner.accuracy.tables import RowConfiguration, TableRow, Tables

COLUMNS = {
    "library": "LightGBM col-wise",
    "task": "GBDT training",
    "dataset": "Higgs",
    "n_rows": "10500000",
    "n_features": "28",
    "hardware": "2x E5-2690 v4, 448GB (16 threads per the doc set-up)",
    "n_machines": "1",
    "source": "microsoft/LightGBM docs/Experiments.rst",
}
"""A row as published: 130.094 s and 0.897 GB (LightGBM, docs/Experiments.rst)."""


def _tables(**changed: str) -> Tables:
    measured = {"time_s": changed.pop("time_s", "130.094"), "memory_gb": changed.pop("memory_gb", "0.897")}
    row = TableRow(FILE, "a", "all", RowConfiguration(COLUMNS | changed), measured)
    return Tables({FILE: (row,)})


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"library": "xgboost exact", "time_s": "3794.34", "memory_gb": "4.853"},
        {"library": "LightGBM distributed", "task": "GBDT, time per tree", "dataset": "Criteo", "n_rows": "1700000000",
         "n_features": "67", "hardware": "2x E5-2670 v2, 256GB", "time_s": "627.8", "memory_gb": "176"},
        {"library": "catboost", "dataset": "airline 100M", "n_rows": "100000000.0", "n_features": "", "time_s": "930",
         "hardware": "CPU m5.12xlarge", "memory_gb": "50", "source": "szilard/GBM-perf README"},
        {"library": "xgboost", "dataset": "airline 100M", "n_rows": "100000000.0", "n_features": "", "time_s": "80",
         "hardware": "Tesla V100", "memory_gb": "6", "source": "szilard/GBM-perf README"},
    ],
)  # fmt: skip
def test_published_benchmarks_are_within_a_factor_of_two(changed: dict[str, str]) -> None:
    """One set of constants predicts time and memory for different libraries, sizes and machines."""
    findings = judge_classical(_tables(**changed))
    assert [result.metric for result in findings.results] == ["total_time", "peak_memory"]
    for result in findings.results:
        assert (result.eligible, result.predicted) == (1, 1)
        assert result.details["within_factor_2"] == 1
        assert result.coverage90 == 1


@pytest.mark.parametrize("changed", [{"dataset": "unheard of"}, {"library": "new"}])
def test_rows_with_unknown_data_set_or_library_are_not_judged(changed: dict[str, str]) -> None:
    """A row with an unknown data set or library is listed as ineligible, with the reason."""
    findings = judge_classical(_tables(**changed))
    assert not findings.results
    assert {skipped.metric for skipped in findings.ineligible} == {"total_time", "peak_memory"}
    assert all("known" in skipped.reason for skipped in findings.ineligible)


def test_an_unknown_machine_gives_no_time_result() -> None:
    """On an unknown machine only memory is judged, because it does not depend on the machine."""
    findings = judge_classical(_tables(hardware="a toaster"))
    assert [result.metric for result in findings.results] == ["peak_memory"]
    assert [(skipped.metric, skipped.reason) for skipped in findings.ineligible] == [
        ("total_time", "the number of cores of 'a toaster' is unknown")
    ]


def test_a_metric_without_a_measurement_is_not_judged() -> None:
    """Without measured memory only the time is judged."""
    findings = judge_classical(_tables(memory_gb=""))
    assert [result.metric for result in findings.results] == ["total_time"]
