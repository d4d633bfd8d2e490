"""Judges the conversion between rates and utilisation: FLOPs by each source's own convention, over the printed peak."""

import numpy as np

from flyball_planner.accuracy.result import EXACT, Findings, Result, Skipped
from flyball_planner.accuracy.tables import Row, Tables
from flyball_planner.accuracy.timed_rows import FILE, timed_rows
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.flops import flops_by_parameters, utilisation
from flyball_planner.models.transformer.shape import TransformerShape

METRIC = "mfu"
CONVENTIONAL = "mosaicml-mpt"  # says in its README how its figures are made
PRINTED_PEAKS = {"a100": 312e12, "h100": 989.5e12}  # FLOP/s in 16 bits, that the same README divides by


def judge_utilisation(tables: Tables) -> Findings:
    """Printed utilisations, made again from printed speeds."""
    rows = tables.suites(FILE).get(CONVENTIONAL, [])
    known = timed_rows([row for row in rows if row.shown("mfu_pct")], METRIC)
    errors = []
    skipped = list(known.ineligible)
    for each in known.timed:
        made = _made_again(each.row, each.run.subject, each.run.training.sequence, each.run.machine.devices)
        if made is None:
            skipped.append(Skipped(FILE, each.row.suite, each.row.id, METRIC, "no speed or peak is stated"))
        else:
            errors.append(made / (each.row.shown("mfu_pct") or 1.0) - 1)
    if not errors:
        return Findings(ineligible=skipped)
    off = np.array(errors)
    result = Result(
        FILE, CONVENTIONAL, METRIC, EXACT, len(off), len(off), float(np.median(np.abs(off))),
        float(np.abs(off).mean()), float(off.mean()), details={"largest": float(np.abs(off).max())},
    )  # fmt: skip
    return Findings([result], skipped)


def _made_again(row: Row, subject: object, sequence: int, devices: int) -> float | None:
    speed = row.shown("tokens_per_s")
    peak = next((rate for name, rate in PRINTED_PEAKS.items() if name in row.configuration["gpu"].casefold()), None)
    if not (speed and peak and isinstance(subject, TransformerShape)):
        return None
    flops = flops_by_parameters(subject, parameters(subject).total, sequence)
    return 100 * utilisation(flops, speed / sequence, devices, peak)
