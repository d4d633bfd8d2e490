"""The list of judges, one line per metric."""

from collections.abc import Callable

from flyball_planner.accuracy.classical import judge_classical
from flyball_planner.accuracy.conversions import judge_conversions
from flyball_planner.accuracy.memory import judge_peak_memory
from flyball_planner.accuracy.memory_mlp import judge_perceptrons
from flyball_planner.accuracy.model_states import judge_model_states
from flyball_planner.accuracy.parameters import judge_parameters
from flyball_planner.accuracy.result import Judgement
from flyball_planner.accuracy.tables import Tables
from flyball_planner.accuracy.timing import judge_step_time
from flyball_planner.accuracy.whole_runs import judge_published_runs, judge_whole_runs

Judge = Callable[[Tables], Judgement]

JUDGES: tuple[Judge, ...] = (
    judge_parameters,
    judge_conversions,
    judge_peak_memory,
    judge_model_states,
    judge_perceptrons,
    judge_classical,
    judge_step_time,
    judge_whole_runs,
    judge_published_runs,
)


def judge_all(tables: Tables) -> Judgement:
    """Judge everything that the tables allow."""
    found = Judgement()
    for judge in JUDGES:
        found += judge(tables)
    return found
