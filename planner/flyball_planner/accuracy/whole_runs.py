"""Judges device-hours of complete trainings: model and tokens are given, the layout is searched."""

import re

from flyball_planner.accuracy.judgement import PredictedRow, Predictions, sum_up
from flyball_planner.accuracy.result import COLD, Judgement, Skipped, Unsuited
from flyball_planner.accuracy.rows.settings import read_device
from flyball_planner.accuracy.rows.subjects import read_subject
from flyball_planner.accuracy.tables import RowConfiguration, TableRow, Tables, number
from flyball_planner.catalogue.machines import machine
from flyball_planner.interval import Interval
from flyball_planner.layout_search.search import search_layouts
from flyball_planner.models.transformer.flops import training_flops
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.timing.training_run import whole_run
from flyball_planner.training import Training
from flyball_reports.errors import InputError

FILE = "runs.csv"
METRIC = "total_time"
USUAL_DEVICES = 256  # if a row only has device-hours
USUAL_SEQUENCE = 2048
USUAL_VOCABULARY = "32000"
USUAL_NETWORK = "1600 Gbps"  # per node, in clusters of A100


def judge_whole_runs(tables: Tables) -> Judgement:
    """Judge every row with model, tokens, device and device-hours."""
    found = Judgement()
    for rows in tables.suites(FILE).values():
        judged, ineligible, unpredicted = [], [], []
        for row in rows:
            try:
                judged.append(_outcome(row))
            except Unsuited as reason:
                ineligible.append(Skipped(row.file, row.suite, row.id, METRIC, str(reason)))
            except InputError as reason:
                unpredicted.append(Skipped(row.file, row.suite, row.id, METRIC, str(reason)))
        found += sum_up(Predictions(judged, ineligible, unpredicted), METRIC, COLD)
    return found


def _outcome(row: TableRow) -> PredictedRow:
    configuration = row.configuration
    hours, tokens = row.shown("gpu_hours"), configuration.number("tokens")
    if not (hours and tokens):
        raise Unsuited("the row has no device-hours or tokens")
    subject = _subject(configuration)
    device = read_device(configuration)
    devices = configuration.count("n_gpus", USUAL_DEVICES)
    training = _training(configuration, devices)
    cluster = machine(device, devices, 8, USUAL_NETWORK if devices > 8 else None)
    search = search_layouts(subject, training, cluster)
    if search.step is None:
        raise InputError(search.why_none)
    steps = tokens / search.step.tokens
    run = whole_run(search.step.seconds(), steps, cluster, float(search.step.mfu[0]))
    ideal = training_flops(subject, training.sequence) * tokens / training.sequence
    scale = ideal / device.rate(training.precision.compute) / 3600
    return PredictedRow(
        row, Interval(run.device_hours.low, run.device_hours.middle, run.device_hours.high), hours, scale
    )


def _subject(configuration: RowConfiguration) -> TransformerShape:
    length = configuration["seq_len"] or str(USUAL_SEQUENCE)
    subject = read_subject(RowConfiguration({"vocab": USUAL_VOCABULARY, "seq_len_or_input": length, **configuration}))
    if not isinstance(subject, TransformerShape):
        raise Unsuited("the row is not a language model")
    return subject


def _training(configuration: RowConfiguration, devices: int) -> Training:
    sequence = configuration.count("seq_len", USUAL_SEQUENCE)
    batch = batch_samples(configuration["global_batch"], sequence) or devices
    return Training(sequence, max(devices, batch // devices * devices), find_optimizer("adamw"))


def batch_samples(stated: str, sequence: int) -> int:
    """Return the samples of a step from samples (`512`) or tokens (`4M tokens`); 0 if neither is stated."""
    if millions := re.match(r"([\d.]+)\s*M tokens", stated):
        return int(float(millions[1]) * 1e6 / sequence)
    return int(number(stated) or 0)
