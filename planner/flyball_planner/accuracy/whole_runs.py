"""Judges device-hours of complete trainings: model and tokens are given, the layout is searched.

Runs of the planner's own table of published runs are judged by a law that does not know their family. Hours that equal
the stated pace of a step contain nothing that runs lose, so they are judged by the steps alone.
"""

import math
import re

from flyball_planner.accuracy.judgement import PredictedRow, Predictions, sum_up
from flyball_planner.accuracy.published_runs import FILE as PUBLISHED_FILE
from flyball_planner.accuracy.published_runs import (
    STEPS_ALONE,
    PlannedRun,
    family_of,
    planned,
    published_runs,
    round_batch,
)
from flyball_planner.accuracy.result import COLD, Judgement, Skipped, Unsuited
from flyball_planner.accuracy.rows.settings import read_device
from flyball_planner.accuracy.rows.subjects import read_subject
from flyball_planner.accuracy.tables import RowConfiguration, TableRow, Tables, number
from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.catalogue.machines import machine
from flyball_planner.interval import Interval
from flyball_planner.layout_search.search import search_layouts
from flyball_planner.memory.checkpoint_size import checkpoint_bytes
from flyball_planner.models.transformer.flops import training_flops
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import NumberFormat
from flyball_planner.timing.training_run import Habits, RunEstimate, whole_run
from flyball_planner.training import Training
from flyball_reports.errors import InputError

FILE = "runs.csv"
METRIC = "total_time"
STEPS_METRIC = "steps_alone_time"
PUBLISHED = "published"  # the planner's own table
USUAL_SECONDS = 21 * 86_400  # of published runs, in the median; for rows that only have device-hours
USUAL_UTILISATION = 0.4
MOST_DEVICES = 16_384
USUAL_SEQUENCE = 2048
USUAL_VOCABULARY = "32000"
RATE = re.compile(r"([\d.]+)(k?) tokens/s/GPU")
PACE = re.compile(r"([\d.]+)(?:-([\d.]+))? (ms|s)/iter")
SAME_PACE = 0.01  # relative difference of hours that are computed from a pace, by rounding
USUAL_NETWORK = "1600 Gbps"  # per node, in clusters of A100


def judge_whole_runs(tables: Tables) -> Judgement:
    """Judge every row with model, tokens, device and device-hours."""
    found = Judgement()
    for rows in tables.suites(FILE).values():
        whole, paced, ineligible, unpredicted = list[PredictedRow](), list[PredictedRow](), [], []
        for row in rows:
            try:
                (paced if states_pace(row) else whole).append(_outcome(row))
            except Unsuited as reason:
                ineligible.append(Skipped(row.file, row.suite, row.id, METRIC, str(reason)))
            except InputError as reason:
                unpredicted.append(Skipped(row.file, row.suite, row.id, METRIC, str(reason)))
        found += sum_up(Predictions(whole, ineligible, unpredicted), METRIC, COLD)
        found += sum_up(Predictions(paced), STEPS_METRIC, COLD)
    return found


def judge_published_runs(tables: Tables) -> Judgement:
    """Judge the planner's own table of published runs, each by what the other families teach, beside other runs."""
    if not tables.of(FILE):
        return Judgement()
    every = list(map(planned, published_runs()))
    whole = [published_outcome(each) for each in every if each.run.counted != STEPS_ALONE]
    paced = [published_outcome(each) for each in every if each.run.counted == STEPS_ALONE]
    return sum_up(Predictions(whole), METRIC, COLD) + sum_up(Predictions(paced), STEPS_METRIC, COLD)


def published_outcome(planned: PlannedRun) -> PredictedRow:
    """Return the prediction of a published run that knows nothing of its family."""
    run = planned.run
    found = planned.estimate(left_out=run.family)
    row = TableRow(PUBLISHED_FILE.name, run.name, PUBLISHED, RowConfiguration({}), {})
    flops = planned.mfu * found.steps_alone.middle * run.machine.devices
    hours = _hours(found, run.machine.devices, paced=run.counted == STEPS_ALONE)
    return PredictedRow(row, hours, run.device_hours, flops / 3600)


def _hours(found: RunEstimate, devices: int, *, paced: bool) -> Interval:
    """Return the device-hours of the run, or of its steps alone."""
    return found.steps_alone.times(devices / 3600) if paced else found.device_hours


def _outcome(row: TableRow) -> PredictedRow:
    configuration = row.configuration
    hours, tokens = row.shown("gpu_hours"), configuration.number("tokens")
    if not (hours and tokens):
        raise Unsuited("the row has no device-hours or tokens")
    subject = _subject(configuration)
    device = read_device(configuration)
    sequence = configuration.count("seq_len", USUAL_SEQUENCE)
    flops = training_flops(subject, sequence) * tokens / sequence
    devices = configuration.count("n_gpus", usual_devices(flops, device))
    training = _training(configuration, devices)
    cluster = machine(device, devices, 8, USUAL_NETWORK if devices > 8 else None)
    search = search_layouts(subject, training, cluster)
    if search.step is None:
        raise InputError(search.why_none)
    steps = tokens / search.step.tokens
    habits = Habits(checkpoint_bytes=checkpoint_bytes(subject, training))
    run = whole_run(
        search.step.seconds(), steps, cluster, float(search.step.mfu[0]), habits, left_out=family_of(tokens, hours)
    )
    scale = flops / device.rate(training.precision.compute) / 3600
    return PredictedRow(row, _hours(run, devices, paced=states_pace(row)), hours, scale)


def states_pace(row: TableRow) -> bool:
    """Return True if the hours of a row equal the tokens or steps times the pace that its notes state."""
    configuration = row.configuration
    hours, tokens = row.shown("gpu_hours"), configuration.number("tokens")
    if not (hours and tokens):
        return False
    notes, devices = configuration["notes"], configuration.count("n_gpus", 1)
    stated = [tokens / (float(rate) * (1e3 if thousand else 1)) for rate, thousand in RATE.findall(notes)]
    batch = batch_samples(configuration["global_batch"], sequence := configuration.count("seq_len", USUAL_SEQUENCE))
    steps = tokens / (batch * sequence) if batch else 0.0
    stated += [
        steps * float(number) * (1e-3 if unit == "ms" else 1) * devices
        for low, high, unit in PACE.findall(notes)
        for number in filter(None, (low, high))
    ]
    return any(abs(seconds / 3600 / hours - 1) < SAME_PACE for seconds in stated)


def usual_devices(flops: float, device: ComputeDevice) -> int:
    """Return the power of two of devices that needs about as many days as published runs of all sizes."""
    wanted = flops / (USUAL_SECONDS * USUAL_UTILISATION * best_16_bit_rate(device))
    return int(min(MOST_DEVICES, 2 ** max(3, round(math.log2(max(1.0, wanted))))))


def best_16_bit_rate(device: ComputeDevice) -> float:
    """Return the device's best 16-bit rate, or the one of wider numbers."""
    return max(device.rate(each) for each in (NumberFormat.BF16, NumberFormat.FP16) if device.computes(each))


def _subject(configuration: RowConfiguration) -> TransformerShape:
    length = configuration["seq_len"] or str(USUAL_SEQUENCE)
    subject = read_subject(RowConfiguration({"vocab": USUAL_VOCABULARY, "seq_len_or_input": length, **configuration}))
    if not isinstance(subject, TransformerShape):
        raise Unsuited("the row is not a language model")
    return subject


def _training(configuration: RowConfiguration, devices: int) -> Training:
    sequence = configuration.count("seq_len", USUAL_SEQUENCE)
    batch = batch_samples(configuration["global_batch"], sequence) or devices
    return Training(sequence, round_batch(batch, devices), find_optimizer("adamw"))


def batch_samples(stated: str, sequence: int) -> int:
    """Return the samples of a step from samples (`512`) or tokens (`4M tokens`); 0 if neither is stated."""
    if millions := re.match(r"([\d.]+)\s*M tokens", stated):
        return int(float(millions[1]) * 1e6 / sequence)
    return int(number(stated) or 0)
