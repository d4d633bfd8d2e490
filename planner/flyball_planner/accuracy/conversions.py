"""Judges the conversion of a speed to FLOP/s or utilisation, for each suite by the convention of its source.

This judge alone is given speeds. It predicts what a source prints in addition to them, not a plan.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.accuracy.judgement import PredictedRow, Predictions, sum_up
from flyball_planner.accuracy.result import EXACT, Judgement, Skipped, Unsuited
from flyball_planner.accuracy.rows.subjects import read_sequence, read_subject
from flyball_planner.accuracy.rows.words import read_precision
from flyball_planner.accuracy.tables import RowConfiguration, TableRow, Tables
from flyball_planner.catalogue.devices import find_device
from flyball_planner.interval import Interval
from flyball_planner.models.transformer.flops import flops_by_parameters, training_flops, utilisation
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import NumberFormat
from flyball_planner.training import Checkpointing
from flyball_reports.errors import InputError

FILE = "throughput.csv"
METRIC = "flops_conversion"

Flops = Callable[[TransformerShape, float, int], float]
"""FLOPs of one sample, from a shape, its parameters and the sequence."""


class Convention(Struct, frozen=True):
    """The FLOPs that a source counts, the column with the result, and the peak rate that a utilisation refers to."""

    framework: str
    column: str
    flops: Flops
    peak: NumberFormat | None = None  # None: that of the row's products


def _causal(shape: TransformerShape, _: float, sequence: int) -> float:
    """Count every layer as fully causal; windows are ignored."""
    return training_flops(replace(shape, sliding_window=0), sequence, causal=True)


def _recomputed(shape: TransformerShape, _: float, sequence: int) -> float:
    return training_flops(shape, sequence, Checkpointing.FULL)


CONVENTIONS = (
    # Its FP8 rows refer to the 8-bit peak: 460.6 TFLOP/s are 23.28 %.
    Convention("llm-foundry", "mfu_pct", flops_by_parameters),  # scripts/train/benchmarking/README.md: 6 N + 12 L h s
    # Its seven printed rows follow the same rule, with the 16-bit peak of any precision (get_peak_flops).
    Convention("torchtitan", "mfu_pct", flops_by_parameters, NumberFormat.BF16),
    Convention("Megatron-DeepSpeed", "tflops_per_gpu", _recomputed),  # Narayanan et al. 2021, eq. 3
    Convention("Megatron-Bridge", "tflops_per_gpu", _causal),  # its printed rows of Llama, Qwen and Kimi follow it
)


def judge_conversions(tables: Tables) -> Judgement:
    """Judge every suite that prints FLOP/s or utilisation with a speed and states its convention."""
    found = Judgement()
    for rows in tables.suites(FILE).values():
        judged: list[PredictedRow] = []
        ineligible: list[Skipped] = []
        for row in rows:
            try:
                judged.append(_converted(row))
            except InputError as reason:
                ineligible.append(Skipped(row.file, row.suite, row.id, METRIC, str(reason)))
        found += sum_up(Predictions(judged, ineligible), METRIC, EXACT)
    return found


def _converted(row: TableRow) -> PredictedRow:
    convention = _convention(row)
    printed = row.shown(convention.column)
    if printed is None:
        raise Unsuited(f"the row has no {convention.column}")
    shape, sequence = _shape(row), read_sequence(row.configuration)
    parameters = row.configuration.number("params") or 0.0
    flops = convention.flops(shape, parameters, sequence)
    if convention.column == "mfu_pct":
        peak = find_device(row.configuration["gpu"]).rate(convention.peak or _compute(row.configuration))
        predicted = 100 * utilisation(flops, _samples_per_second(row, sequence), 1, peak)
    else:
        predicted = flops * _samples_per_second(row, sequence) / 1e12
    return PredictedRow(row, Interval.exactly(predicted), printed)


def _compute(configuration: RowConfiguration) -> NumberFormat:
    return read_precision(configuration).compute if configuration["precision"] else NumberFormat.BF16


def _convention(row: TableRow) -> Convention:
    framework = row.configuration["framework"]
    for convention in CONVENTIONS:
        if framework.startswith(convention.framework):
            if convention.flops is _recomputed and "improved" not in row.configuration["notes"]:
                raise Unsuited("the row does not state which of two formulas its FLOP/s come from")
            return convention
    raise Unsuited("the row does not state how it counts FLOPs")


def _shape(row: TableRow) -> TransformerShape:
    model = row.configuration["model"]
    if "GPT OSS" in model:
        raise Unsuited("its printed FLOPs omit the gates of the experts: 6 × 3.9e9 per token instead of 6 × 5.1e9")
    subject = read_subject(row.configuration)
    if not isinstance(subject, TransformerShape):
        raise Unsuited("not a transformer")
    further = model.startswith("DeepSeekV3") and "w/o MTP" not in model  # predicts a second token by default
    return replace(subject, multi_token_layers=1) if further else subject


def _samples_per_second(row: TableRow, sequence: int) -> float:
    """Return the samples per second of one device."""
    devices = row.configuration.count("n_gpus", 1)
    tokens, samples, seconds = (row.shown(name) for name in ("tokens_per_s_per_gpu", "samples_per_s", "step_time_s"))
    batch = row.configuration.number("global_batch")
    if samples:
        return samples / devices
    if tokens:
        return tokens / sequence
    if seconds and batch:
        return batch / seconds / devices
    raise Unsuited("the row has no speed")
