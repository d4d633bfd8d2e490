"""The dry run of a change: what it does to memory and time, and what must stay as it is."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.adjustments.declared.declared_values import SharedValue, number_of
from flyball_collector.adjustments.rules.memory_scaling import fixed_bytes, predict_peak
from flyball_collector.adjustments.rules.run_case import RunCase
from flyball_collector.adjustments.rules.thresholds import CORES, HOST_MEMORY_FREE, MEMORY
from flyball_collector.adjustments.values import same_value, value_text

CHECKPOINTED = (0.1, 1.0)
"""Share of the activations that remains with activation checkpointing: between a tenth and, where most memory is not
activations, nearly all."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The predicted figures of a change, and the reason why it must not be made; an empty reason means that it may."""

    predicted: Mapping[str, float] = field(default_factory=dict)
    refusal: str = ""


def dry_run(
    case: RunCase,
    value: SharedValue,
    to: Value,
    *,
    gain: tuple[float, float] | None = None,
    known: Mapping[str, float] | None = None,
    disabled: Collection[str] = (),
) -> DryRun:
    """Predict the effect of one change and check its invariants. `known`: figures that a rule has predicted itself."""
    predicted = {**_memory(case, value, to), **(known or {}), **_time(case, gain)}
    return DryRun(predicted, next(_refusals(case, value, to, predicted, disabled), ""))


def _time(case: RunCase, gain: tuple[float, float] | None) -> dict[str, float]:
    if gain is None or case.step_seconds is None or not min(gain) > 0:
        return {}
    return {"step_seconds_low": case.step_seconds / max(gain), "step_seconds_high": case.step_seconds / min(gain)}


def _memory(case: RunCase, value: SharedValue, to: Value) -> dict[str, float]:
    """Return the predicted peak of a rank, where the change affects it and the peak is known."""
    s = case.situation
    if value.lever == "micro_batch":
        facts = case.peak(value)
        if facts is None or not number_of(to) > 0:
            return {}
        peak, before = predict_peak(facts, number_of(to)), predict_peak(facts, value.number).middle
        ends = {"peak_bytes_low": peak.low, "peak_bytes": peak.middle, "peak_bytes_high": peak.high}
        return {**ends, "memory_ratio": peak.high / before}
    if value.lever == "activation_checkpointing" and to is True and s.peak_bytes is not None:
        fixed = min(fixed_bytes(case.of("micro_batch")), s.peak_bytes)
        low, high = (fixed + share * (s.peak_bytes - fixed) for share in CHECKPOINTED)
        return {"peak_bytes_low": low, "peak_bytes_high": high, "memory_ratio": 1.0}
    return {}


def _refusals(
    case: RunCase, value: SharedValue, to: Value, predicted: Mapping[str, float], disabled: Collection[str]
) -> Iterator[str]:
    if value.lever in disabled:
        yield f"the operator has disabled the lever {value.lever}"
    if value.blocked:
        yield f"a rank cannot change it now: {value.blocked}"
    if value.choices and not any(same_value(to, choice) for choice in value.choices):
        yield f"{value_text(to)} is not a choice of every rank"
    check = _CHECKS.get(value.lever)
    if check is not None:
        yield from check(case, value, to, predicted)


def _check_micro_batch(case: RunCase, value: SharedValue, to: Value, predicted: Mapping[str, float]) -> Iterator[str]:
    """The global batch stays the same: each rank's share is divided into whole slices of one size."""
    micro, per_rank = number_of(to), value.fact("per_rank")
    if micro < 1:
        yield "a micro-batch has at least one sample"
    elif per_rank is None:
        yield "the ranks have different batches, or do not report them: the global batch could change"
    elif per_rank % micro:
        yield f"{micro:g} does not divide the {per_rank:g} samples of a rank"
    if value.facts.get("normalised") == "mean":
        yield "the loss is a mean of means: other slices would change it"
    if micro > max(number_of(each) for each in value.by_rank.values()):
        yield from _check_peak(case, predicted)


def _check_activations(case: RunCase, value: SharedValue, to: Value, predicted: Mapping[str, float]) -> Iterator[str]:
    if value.now is True and to is False:
        yield from _check_peak(case, predicted)


def _check_peak(case: RunCase, predicted: Mapping[str, float]) -> Iterator[str]:
    """Ten percent of the memory stay free by the upper end of the prediction."""
    total, peak = case.situation.memory_total_bytes, predicted.get("peak_bytes_high")
    if total is None or peak is None:
        yield "the memory that it needs is not known"
    elif peak > MEMORY.enter * total:
        free = 100 * (1 - MEMORY.enter)
        yield f"it may need {peak / 1e9:.1f} GB of {total / 1e9:.1f} GB; {free:.0f} % must stay free"


def _check_workers(case: RunCase, value: SharedValue, to: Value, _: Mapping[str, float]) -> Iterator[str]:
    """More workers than cores slow each other down, and each needs memory."""
    added = number_of(to) - value.number
    if added <= 0:
        return
    for host in case.situation.hosts:
        ranks = value.by_host.get(host.subject.host, 0)
        if host.cores is None or number_of(to) * ranks > CORES * host.cores:
            cores = "an unknown number of" if host.cores is None else f"{host.cores:g}"
            yield f"{number_of(to) * ranks:g} workers on {cores} cores of {host.subject.host}"
        available, total = host.memory_available_bytes, host.memory_total_bytes
        needed = added * ranks * (host.worker_memory_bytes or 0.0)
        if available is None or total is None or available - needed < HOST_MEMORY_FREE * total:
            yield f"too little memory is available on {host.subject.host}, or it is not known how much"


_Check = Callable[[RunCase, SharedValue, Value, Mapping[str, float]], Iterator[str]]

_CHECKS: Mapping[str, _Check] = {
    "micro_batch": _check_micro_batch,
    "activation_checkpointing": _check_activations,
    "loader_workers": _check_workers,
}
