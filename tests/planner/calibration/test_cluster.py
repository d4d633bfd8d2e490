"""Tests of learning from the runs of one cluster without harm to the order of layouts."""

import numpy as np
import pytest

from flyball_planner.calibration.cluster import learn_cluster
from flyball_planner.calibration.steps import learn_steps, prediction, start_of
from flyball_planner.timing.coefficients import PACE, fitted
from tests.planner.calibration.runs import BATCHES, gpt, llama, slower


@pytest.mark.parametrize("times", [0.7, 1.4])
def test_alike_runs_only_teach_the_pace(times: float) -> None:
    """If one factor explains all runs, the other coefficients, which order the layouts, hardly move."""
    runs = [slower(llama(batch), times) for batch in BATCHES[:5]]
    usual, learned = start_of(runs[0]), learn_steps(runs)
    pace = usual.names.index(PACE)
    assert np.abs(np.delete(learned.middle - usual.middle, pace)).max() < 0.02
    assert 0.8 < learned.middle[pace] / np.log(times) <= 1.001


def test_alike_runs_leave_other_layouts_uncertain() -> None:
    """Five runs without a pipeline or network narrow their own interval more than the coefficients of a network."""
    runs = [slower(llama(batch), 1.2) for batch in BATCHES[:5]]
    usual, learned = start_of(runs[0]), learn_steps(runs)
    network = usual.names.index("network")
    assert learned.deviations[network] > 0.9 * usual.deviations[network]


def test_runs_that_one_factor_cannot_explain_move_the_coefficients() -> None:
    """Small micro-batches that take three times as long teach launches, so larger ones are not tripled."""
    runs = [slower(gpt(batch, micro), times) for batch in BATCHES[:3] for micro, times in ((1, 3.0), (8, 1.0))]
    predict, measured = prediction(runs), np.array([run.step_seconds for run in runs])
    ratio = np.exp(predict(learn_cluster(fitted(), predict, measured).middle)) / measured
    assert ratio[::2] == pytest.approx(1.0, abs=0.35)
    assert ratio[1::2] == pytest.approx(1.0, abs=0.2)


def test_a_misleading_run_does_not_pull_the_others() -> None:
    """If one of five runs took 2.5 times as long and the others as estimated, their estimates move by at most 2 %."""
    runs = [slower(llama(batch), 2.5 if batch == BATCHES[2] else 1.0) for batch in BATCHES[:5]]
    predict = prediction(runs)
    moved = predict(learn_steps(runs).middle) - predict(start_of(runs[0]).middle)
    assert np.abs(moved).max() < 0.02


def test_contradicting_runs_only_teach_their_scatter() -> None:
    """If no run is predicted better by the others, the estimates stay, with wider intervals."""
    runs = [slower(llama(batch), times) for batch, times in zip(BATCHES, (0.7, 1.4, 0.75, 1.35), strict=False)]
    usual, learned = start_of(runs[0]), learn_steps(runs)
    assert learned.middle == pytest.approx(usual.middle)
    assert learned.scatter > 2 * usual.scatter


def test_no_runs_leave_the_belief_as_it_was() -> None:
    """Without measured runs nothing is narrowed."""
    nothing = np.zeros(0)
    assert learn_cluster(fitted(), lambda _: nothing, nothing) is fitted()
