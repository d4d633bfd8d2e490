"""Judges model states by published tables of formulas, which must agree to the printed digits."""

import re
from collections.abc import Sequence

from flyball_planner.accuracy.judgement import PredictedRow, predict_rows, sum_up
from flyball_planner.accuracy.memory_rows import measured_bytes, unit_bytes
from flyball_planner.accuracy.result import EXACT, Judgement, Unsuited
from flyball_planner.accuracy.rows.settings import read_layout
from flyball_planner.accuracy.rows.vocabulary import words
from flyball_planner.accuracy.rows.words import read_offload, read_sharding
from flyball_planner.accuracy.tables import RowConfiguration, Tables
from flyball_planner.catalogue.devices import find_device
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts
from flyball_planner.memory.deepspeed import deepspeed_states_bytes
from flyball_planner.memory.estimate import estimate_memory
from flyball_planner.models.cost import ModelCost
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.training import Training

FILE = "memory_analytical.csv"
METRIC = "model_states"
STATES = ("weights", "gradients", "optimizer_states")
ANY_DEVICE = "A100 SXM4 80GB"  # states do not depend on the device


def judge_model_states(tables: Tables) -> Judgement:
    """Judge every suite by the number of rows that agree to the printed digits."""
    found = Judgement()
    for rows in tables.suites(FILE).values():
        outcomes = predict_rows(rows, METRIC, _predict, measured_bytes)
        details = {"to_the_printed_digits": _agree(outcomes.judged)} if outcomes.judged else None
        found += sum_up(outcomes, METRIC, EXACT, details)
    return found


def _predict(configuration: RowConfiguration) -> Interval:
    parameters = configuration.number("params")
    if parameters is None:
        raise Unsuited("the row has no number of parameters")
    if "estimator" in configuration["suite"]:
        return Interval.exactly(_deepspeed(configuration, parameters))
    return Interval.exactly(_states(configuration, parameters))


def _states(configuration: RowConfiguration, parameters: float) -> float:
    layout = read_layout(configuration)
    cost = ModelCost("", "", "", round(parameters), 0, 1.0, ())
    training = Training(1, layout.data, find_optimizer("adam"), PRECISIONS["fp16"])
    estimate = estimate_memory(cost, training, Layouts.of(layout), find_device(ANY_DEVICE))
    return sum(float(estimate.parts[name][0]) for name in STATES)


def _deepspeed(configuration: RowConfiguration, parameters: float) -> float:
    largest = re.search(r"largest layer ([\d.]+)m", words(configuration, "notes"))
    if largest is None:
        raise Unsuited("the row has no largest layer")
    return deepspeed_states_bytes(
        parameters,
        float(largest[1]) * 1e6,
        read_layout(configuration).data,
        read_sharding(configuration),
        read_offload(configuration),
    )


def _agree(judged: Sequence[PredictedRow]) -> float:
    """Return the share that differs by less than one unit of the last digit, since some tables round and others
    truncate."""
    return sum(abs(each.predicted.middle - each.measured) < _last_digit_bytes(each) for each in judged) / len(judged)


def _last_digit_bytes(outcome: PredictedRow) -> float:
    printed = outcome.row.measured["mem_value"]
    decimals = len(printed.partition(".")[2])
    return 10.0**-decimals * unit_bytes(outcome.row.configuration)
