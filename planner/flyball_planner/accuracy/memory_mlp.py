"""Judges predicted peaks of perceptrons above the driver's figure of an idle training."""

from math import ceil, floor

from flyball_planner.accuracy.judgement import PredictedRow, Predictions, predict_rows, sum_up
from flyball_planner.accuracy.result import COLD, Judgement, Unsuited
from flyball_planner.accuracy.rows.perceptrons import perceptron, perceptron_layout, perceptron_training
from flyball_planner.accuracy.tables import RowConfiguration, TableRow, Tables
from flyball_planner.catalogue.devices import find_device
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts
from flyball_planner.memory.constants import CONSTANTS, MIB
from flyball_planner.memory.estimate import estimate_memory

FILE = "memory_mlp_gpumemnet.csv"
METRIC = "peak_memory_above_floor"
SMALL_METRIC = "peak_memory_below_40_mib"
FLOOR_MIB = 1443.0
"""The figure of the table's runs before any tensor exists: context, kernels and the monitor itself (its notes)."""
SMALL_MIB = 40.0  # below it, the allocator's segments dominate; judged by distance
TOLERANCE_MIB = 4.0
DEVICE = "A100 SXM4 40GB"


def judge_perceptrons(tables: Tables) -> Judgement:
    """Judge large peaks by relative error, and small ones by the share within a few MiB."""
    found = Judgement()
    for rows in tables.suites(FILE).values():
        outcomes = predict_rows(rows, METRIC, _predict, _measure, _card)
        small = [each for each in outcomes.judged if each.measured < SMALL_MIB * MIB]
        large = [each for each in outcomes.judged if each.measured >= SMALL_MIB * MIB]
        found += sum_up(Predictions(large, outcomes.ineligible, outcomes.unpredicted), METRIC, COLD)
        details = {"within_4_mib": _near(small)} if small else None
        found += sum_up(Predictions(small), SMALL_METRIC, COLD, details)
    return found


def _predict(configuration: RowConfiguration) -> Interval:
    layouts = Layouts.of(perceptron_layout(configuration))
    device = find_device(DEVICE)
    estimate = estimate_memory(perceptron(configuration), perceptron_training(configuration), layouts, device)
    middle = estimate.driver[0].middle - CONSTANTS.context_bytes
    reserved = estimate.reserved[0]
    return _as_shown(
        Interval(middle - (reserved.middle - reserved.low), middle, middle + reserved.high - reserved.middle)
    )


def _as_shown(interval: Interval) -> Interval:
    """Round to the MiB that the driver reports, for the run and for the floor."""
    return Interval(floor(interval.low / MIB) * MIB, interval.middle, ceil(interval.high / MIB) * MIB)


def _measure(row: TableRow) -> float:
    shown = row.shown("max_gpu_mem_MiB")
    if shown is None or shown <= FLOOR_MIB:
        raise Unsuited("the run is not above the floor")
    return (shown - FLOOR_MIB) * MIB


def _card(_: RowConfiguration) -> float:
    return find_device(DEVICE).memory_bytes


def _near(judged: list[PredictedRow]) -> float:
    return sum(abs(each.predicted.middle - each.measured) <= TOLERANCE_MIB * MIB for each in judged) / len(judged)
