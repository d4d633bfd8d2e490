"""Tests of the memory model on published runs that none of its constants was chosen by."""

from statistics import mean, median

import pytest

from tests.planner.memory.published_peaks import PublishedPeak, bert_large, qwen


@pytest.mark.parametrize("runs", [list(bert_large()), list(qwen())], ids=["BERT-large", "Qwen LoRA"])
def test_published_peaks_are_predicted(runs: list[PublishedPeak]) -> None:
    """The median error is at most 10 %, and at least 85 % of the runs are inside the interval."""
    assert median(abs(run.predicted.middle / run.measured - 1) for run in runs) <= 0.10
    assert mean(run.predicted.holds(run.measured) for run in runs) >= 0.85
