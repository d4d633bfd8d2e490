"""Judges how a measured speed becomes FLOP/s or utilisation: each suite by the convention that its makers state.

This is the one judge that is given speeds: it predicts what a source prints beside them, and nothing of a plan.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.accuracy.judging import Outcome, Outcomes, sum_up
from flyball_planner.accuracy.result import EXACT, Findings, Skipped, Unsuited
from flyball_planner.accuracy.rows.subjects import read_sequence, read_subject
from flyball_planner.accuracy.tables import Row, Tables
from flyball_planner.catalogue.devices import find_device
from flyball_planner.interval import Interval
from flyball_planner.models.transformer.flops import flops_by_parameters, training_flops, utilisation
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import Format
from flyball_planner.training import Checkpointing
from flyball_reports.errors import InputError

FILE = "throughput.csv"
METRIC = "flops_conversion"

Flops = Callable[[TransformerShape, float, int], float]
"""Of one sample, from a shape, its parameters and the sequence."""


class Convention(Struct, frozen=True):
    """What a source counts, and the column in which it prints it."""

    framework: str
    column: str
    flops: Flops


def _causal(shape: TransformerShape, _: float, sequence: int) -> float:
    """Every layer as if it looked at all earlier tokens; windows are not heeded."""
    return training_flops(replace(shape, sliding_window=0), sequence, causal=True)


def _recomputed(shape: TransformerShape, _: float, sequence: int) -> float:
    return training_flops(shape, sequence, Checkpointing.FULL)


CONVENTIONS = (
    Convention("llm-foundry", "mfu_pct", flops_by_parameters),  # scripts/train/benchmarking/README.md: 6 N + 12 L h s
    Convention("torchtitan", "mfu_pct", flops_by_parameters),  # its seven printed rows follow the same rule
    Convention("Megatron-DeepSpeed", "tflops_per_gpu", _recomputed),  # Narayanan et al. 2021, eq. 3
    Convention("Megatron-Bridge", "tflops_per_gpu", _causal),  # its printed rows of Llama, Qwen and Kimi follow it
)


def judge_conversions(tables: Tables) -> Findings:
    """Every suite that prints FLOP/s or a utilisation beside a speed, and says how it counts."""
    found = Findings()
    for rows in tables.suites(FILE).values():
        judged: list[Outcome] = []
        ineligible: list[Skipped] = []
        for row in rows:
            try:
                judged.append(_converted(row))
            except InputError as reason:
                ineligible.append(Skipped(row.file, row.suite, row.id, METRIC, str(reason)))
        found += sum_up(Outcomes(judged, ineligible), METRIC, EXACT)
    return found


def _converted(row: Row) -> Outcome:
    convention = _convention(row)
    told = row.shown(convention.column)
    if told is None:
        raise Unsuited(f"the row prints no {convention.column}")
    shape, sequence = _shape(row), read_sequence(row.configuration)
    parameters = row.configuration.number("params") or 0.0
    flops = convention.flops(shape, parameters, sequence)
    if convention.column == "mfu_pct":
        peak = find_device(row.configuration["gpu"]).rate(Format.BF16)
        predicted = 100 * utilisation(flops, _samples_per_second(row, sequence), 1, peak)
    else:
        predicted = flops * _samples_per_second(row, sequence) / 1e12
    return Outcome(row, Interval.exactly(predicted), told)


def _convention(row: Row) -> Convention:
    framework = row.configuration["framework"]
    for convention in CONVENTIONS:
        if framework.startswith(convention.framework):
            if convention.flops is _recomputed and "improved" not in row.configuration["notes"]:
                raise Unsuited("the row does not say which of two formulas its FLOP/s come from")
            return convention
    raise Unsuited("the row does not say how it counts FLOPs")


def _shape(row: Row) -> TransformerShape:
    model = row.configuration["model"]
    if "GPT OSS" in model:
        raise Unsuited("its printed FLOPs leave out the gates of the experts: 6 × 3.9e9 a token instead of 6 × 5.1e9")
    subject = read_subject(row.configuration)
    if not isinstance(subject, TransformerShape):
        raise Unsuited("no transformer")
    further = model.startswith("DeepSeekV3") and "w/o MTP" not in model  # predicts a second token unless told
    return replace(subject, multi_token_layers=1) if further else subject


def _samples_per_second(row: Row, sequence: int) -> float:
    """Of one device."""
    devices = row.configuration.count("n_gpus", 1)
    tokens, samples, seconds = (row.shown(name) for name in ("tokens_per_s_per_gpu", "samples_per_s", "step_time_s"))
    batch = row.configuration.number("global_batch")
    if samples:
        return samples / devices
    if tokens:
        return tokens / sequence
    if seconds and batch:
        return batch / seconds / devices
    raise Unsuited("the row tells no speed")
