"""Judges the device-hours of whole trainings: model and tokens are given, the layout is the search's own choice."""

import re

from flyball_planner.accuracy.judging import Outcome, Outcomes, sum_up
from flyball_planner.accuracy.result import COLD, Findings, Skipped, Unsuited
from flyball_planner.accuracy.rows.settings import read_device
from flyball_planner.accuracy.rows.subjects import read_subject
from flyball_planner.accuracy.tables import Configuration, Row, Tables, number
from flyball_planner.catalogue.machines import machine
from flyball_planner.interval import Interval
from flyball_planner.layouts.search import search_layouts
from flyball_planner.models.transformer.flops import training_flops
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.timing.run import whole_run
from flyball_planner.training import Training
from flyball_reports.errors import InputError

FILE = "runs.csv"
METRIC = "total_time"
USUAL_DEVICES = 256  # where a row tells only device-hours
USUAL_SEQUENCE = 2048
USUAL_VOCABULARY = "32000"
USUAL_NETWORK = "1600 Gbps"  # of a node, in clusters of A100


def judge_whole_runs(tables: Tables) -> Findings:
    """Every row that tells model, tokens, device and device-hours."""
    found = Findings()
    for rows in tables.suites(FILE).values():
        judged, ineligible, unpredicted = [], [], []
        for row in rows:
            try:
                judged.append(_outcome(row))
            except Unsuited as reason:
                ineligible.append(Skipped(row.file, row.suite, row.id, METRIC, str(reason)))
            except InputError as reason:
                unpredicted.append(Skipped(row.file, row.suite, row.id, METRIC, str(reason)))
        found += sum_up(Outcomes(judged, ineligible, unpredicted), METRIC, COLD)
    return found


def _outcome(row: Row) -> Outcome:
    told = row.configuration
    hours, tokens = row.shown("gpu_hours"), told.number("tokens")
    if not (hours and tokens):
        raise Unsuited("device-hours or tokens are not stated")
    subject = _subject(told)
    device = read_device(told)
    devices = told.count("n_gpus", USUAL_DEVICES)
    training = _training(told, devices)
    cluster = machine(device, devices, 8, USUAL_NETWORK if devices > 8 else None)
    search = search_layouts(subject, training, cluster)
    if search.step is None:
        raise InputError(search.why_none)
    steps = tokens / search.step.tokens
    run = whole_run(search.step.seconds(), steps, cluster, float(search.step.mfu[0]))
    ideal = training_flops(subject, training.sequence) * tokens / training.sequence
    scale = ideal / device.rate(training.precision.compute) / 3600
    return Outcome(row, Interval(run.device_hours.low, run.device_hours.middle, run.device_hours.high), hours, scale)


def _subject(told: Configuration) -> TransformerShape:
    length = told["seq_len"] or str(USUAL_SEQUENCE)
    subject = read_subject(Configuration({"vocab": USUAL_VOCABULARY, "seq_len_or_input": length, **told}))
    if not isinstance(subject, TransformerShape):
        raise Unsuited("the row is no language model")
    return subject


def _training(told: Configuration, devices: int) -> Training:
    sequence = told.count("seq_len", USUAL_SEQUENCE)
    batch = batch_samples(told["global_batch"], sequence) or devices
    return Training(sequence, max(devices, batch // devices * devices), find_optimizer("adamw"))


def batch_samples(stated: str, sequence: int) -> int:
    """Of a step, told as samples (`512`) or as tokens (`4M tokens`); 0 where nothing is told."""
    if millions := re.match(r"([\d.]+)\s*M tokens", stated):
        return int(float(millions[1]) * 1e6 / sequence)
    return int(number(stated) or 0)
