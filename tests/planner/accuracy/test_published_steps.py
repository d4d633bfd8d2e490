"""Tests of the published steps in the package: they are read completely, and predicted as well as documented."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pytest

from flyball_planner.accuracy.draws import draw, main
from flyball_planner.accuracy.tables import TableRow, read_tables
from flyball_planner.accuracy.timed_rows import FILE, PUBLISHED, Timed, timed_rows
from flyball_planner.accuracy.timing import cold_predictions
from flyball_planner.training import Attention

GIVEN, SEEDS = "vtrain-multi", range(101, 109)


@cache
def suites() -> Mapping[str, Sequence[TableRow]]:
    """Return the rows by suite."""
    return read_tables(PUBLISHED).suites(FILE)


@cache
def timed(suite: str) -> Sequence[Timed]:
    """Return a suite's rows as runs."""
    return timed_rows(suites()[suite], "step_time").timed


def test_every_row_is_read_and_has_a_source() -> None:
    """No row of the package is left out, and each one names its source."""
    assert all(row.configuration["source"] for rows in suites().values() for row in rows)
    assert {name: len(timed(name)) for name in suites()} == {name: len(rows) for name, rows in suites().items()}


def test_old_articles_store_the_scores_of_attention() -> None:
    """Articles from before flash attention existed have materialised attention; later rows have not."""
    found = {name: {each.run.training.attention for each in timed(name)} for name in ("korthikanti-2022", "nemo-24.07")}
    assert found == {"korthikanti-2022": {Attention.MATERIALISED}, "nemo-24.07": {Attention.FLASH}}


def test_suites_that_were_never_fitted_are_within_their_intervals() -> None:
    """85 to 98 % of the rows are in the 90 % interval, and three quarters of each suite with at least eight rows."""
    covered = {
        name: np.array([interval.holds(row.seconds) for row, interval in cold_predictions(timed(name), name)])
        for name in suites()
    }
    assert 0.85 <= np.mean([each.mean() for each in covered.values()]) <= 0.98
    assert min(each.mean() for each in covered.values() if len(each) >= 8) >= 0.75  # fewer prove nothing


@pytest.mark.parametrize("seed", SEEDS)
def test_five_runs_never_make_the_choice_of_layouts_worse(seed: int) -> None:
    """Whatever five runs are given, the chosen layouts lose at most half a percent more than without them."""
    found = draw(timed(GIVEN), GIVEN, seed)
    assert found.cold_regret is not None
    assert found.regret is not None
    assert found.regret <= found.cold_regret + 0.005


@pytest.mark.parametrize("suite", ["kempner-h200", "megatron-moe", "nemo-24.07"])
def test_five_runs_do_not_make_steps_worse(suite: str) -> None:
    """Over eight draws of five runs, the other steps are predicted at most one percent worse than without them."""
    draws = [draw(timed(suite), suite, seed) for seed in SEEDS]
    assert np.median([each.error - each.cold_error for each in draws]) <= 0.01


def test_draws_are_printed_by_suite(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints the errors before and after calibration of each suite with enough rows."""
    assert main(["--seeds", "1", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} == {name for name in suites() if len(suites()[name]) >= 8}
    assert all("→" in line for line in lines)
