"""The measured effect of an adjustment, and whether it is kept: pure functions of the reports before and after it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from flyball_collector.adjustments.adjustment import MeasuredEffect
from flyball_collector.adjustments.effect.series import StepSample
from flyball_collector.adjustments.effect.step_change import LevelChange, level_change, without_spikes

Floats = NDArray[np.float64]

WARM_UP_SAMPLES = 3
"""Reports after the change that are left out: allocators, caches and compilers settle in the first steps."""

LEAST_SAMPLES = 5
"""Of each side. With fewer there is no effect."""

SLOWER, MEMORY, LOSS, UNSTABLE = "slower", "memory", "loss_not_finite", "unstable"

_CLEARLY = 0.98
_GRAVELY = 0.95
"""A change is taken back if it is slower than this factor and the whole interval shows a loss, or slower than the
second one at the end. What a person asked for is taken back in the first case only. A loss of 5 % (factor 0.952) is
found, and noise around 1 is not."""

_EXACT = 0.02
_VAGUE = 0.04
"""Half widths of the interval, of the logarithm: up to the first one the two cases above can be distinguished; beyond
the second one they cannot even at the end."""

_EARLY = 1.4
"""While the interval is wider, more reports will come, and each look may show harm by chance: then the whole interval,
widened by this factor, must show a loss."""

_MEMORY_SLACK = 1.02  # the peak differs a little from step to step

_LEAST_SCALE = 0.05
_SCALE_FACTOR = 2.0
_SCALE_ERROR = 2.5
"""Step times are unstable if they vary by more than 5 % from report to report and by twice as much as before, plus this
many standard errors of the comparison, of about 1 / √reports each."""

_SPIKE_SHARE = 0.05
_BY_CHANCE = 0.005
"""Long steps are too frequent if they take 5 % more of the time, and chance would bring so many in 1 of 200 cases."""


class EffectVerdict(StrEnum):
    """Names what is done with an applied adjustment."""

    KEEP = "keep"
    ROLL_BACK = "roll_back"
    WAIT = "wait"  # the reports do not show yet which


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectLimits:
    """Limits on what the adjustment may cost, as its dry run predicted."""

    speed: float = 1.0  # a factor; 0.9: it may cost a tenth. 0: neither speed nor its variation is judged
    memory: float | None = 1.0  # likewise, of the peak; None: it is not judged
    by_person: bool = False  # only a loss that the whole interval shows is one, and variation is not judged


def measure(
    before: Sequence[StepSample],
    after: Sequence[StepSample],
    limits: EffectLimits | None = None,
    *,
    final: bool = False,
) -> MeasuredEffect | None:
    """Return the effect; None while there are too few reports. `final`: no more will come, so what is unclear counts.

    `before` should be as long as possible, up to the last quarter of an hour. `after` begins with the change.
    """
    allowed = limits or EffectLimits()
    settled = after[WARM_UP_SAMPLES:]
    if len(before) < LEAST_SAMPLES or len(settled) < LEAST_SAMPLES:
        return None
    amounts = _amounts(before, settled)
    old, new = _logarithms(before, amounts), _logarithms(settled, amounts)
    old_kept, new_kept = without_spikes(old), without_spikes(new)
    change = level_change(old[old_kept], new[new_kept])
    faults = [
        *_slower(change, allowed, final=final),
        *_memory(before, settled, allowed.memory),
        *loss_faults(before, after),
        *(_unstable(old, new, old_kept, new_kept) if allowed.speed > 0 and not allowed.by_person else ()),
    ]
    return _effect(before, settled, change, faults, (old_kept, new_kept))


def loss_faults(before: Sequence[StepSample], after: Sequence[StepSample]) -> list[str]:
    """Return a fault if losses were finite and no longer are. It needs a single report, and is never waited for."""
    were_finite = bool(before) and all(each.finite for each in before)
    return [LOSS] if were_finite and not all(each.finite for each in after) else []


def verdict(effect: MeasuredEffect, limits: EffectLimits | None = None, *, final: bool = False) -> EffectVerdict:
    """Return what to do: take it back for its faults, keep it, or wait for more reports."""
    if effect.faults:
        return EffectVerdict.ROLL_BACK
    judged = (limits or EffectLimits()).speed > 0
    half_width = (math.log(effect.gain_high) - math.log(effect.gain_low)) / 2
    clearly_kept = math.log(effect.gain_low) > math.log(_CLEARLY)
    if judged and not final and half_width > _EXACT and not clearly_kept:
        return EffectVerdict.WAIT
    return EffectVerdict.KEEP


def _amounts(before: Sequence[StepSample], after: Sequence[StepSample]) -> str:
    """Return what the speed is measured in: tokens, else samples, if all reports have them; else steps."""
    for name in ("tokens", "samples"):
        if all(getattr(each, name) for each in (*before, *after)):
            return name
    return "steps"


def _logarithms(samples: Sequence[StepSample], amounts: str) -> Floats:
    """Return the logarithm of the time of one token, sample or step."""
    units = [1.0 if amounts == "steps" else getattr(each, amounts) for each in samples]
    seconds = [each.step_seconds / unit for each, unit in zip(samples, units, strict=True)]
    return np.log(np.maximum(np.array(seconds, dtype=np.float64), 1e-12))


def _slower(change: LevelChange, limits: EffectLimits, *, final: bool) -> list[str]:
    if limits.speed <= 0:
        return []
    loss = change.change + math.log(min(limits.speed, 1.0))  # the logarithm of the time, beyond what was allowed
    clearly, gravely = -math.log(_CLEARLY), -math.log(_GRAVELY)
    sure = loss > clearly and loss > change.half_width * (1.0 if final or change.half_width <= _EXACT else _EARLY)
    if limits.by_person:
        return [SLOWER] if sure else []
    enough = change.half_width <= (_VAGUE if final else _EXACT)
    return [SLOWER] if sure or (enough and loss > clearly) or (final and loss > gravely) else []


def _memory(before: Sequence[StepSample], after: Sequence[StepSample], factor: float | None) -> list[str]:
    old, new = _peak(before), _peak(after)
    if factor is None or old is None or new is None:
        return []
    return [MEMORY] if new > old * max(1.0, factor) * _MEMORY_SLACK else []


def _peak(samples: Sequence[StepSample]) -> int | None:
    return max((each.peak_bytes for each in samples if each.peak_bytes is not None), default=None)


def _unstable(old: Floats, new: Floats, old_kept: NDArray[np.bool_], new_kept: NDArray[np.bool_]) -> list[str]:
    """Return a fault if the step times vary twice as much, or if long steps have become frequent."""
    before, now = _scale(old[old_kept]), _scale(new[new_kept])
    factor = _SCALE_FACTOR * (1 + _SCALE_ERROR / math.sqrt(len(new)))
    varies = now > factor * before and now > _LEAST_SCALE
    spikes, earlier = int(np.sum(~new_kept)), int(np.sum(~old_kept))
    frequent = _poisson_tail(spikes, len(new) * (earlier + 1) / len(old)) < _BY_CHANCE
    costly = _spike_share(new, new_kept) > _spike_share(old, old_kept) + _SPIKE_SHARE
    return [UNSTABLE] if varies or (frequent and costly) else []


def _scale(values: Floats) -> float:
    """Return the standard deviation from one report to the next, robustly: a drift does not count."""
    return 1.4826 * float(np.median(np.abs(np.diff(values)))) / math.sqrt(2) if len(values) > 1 else 0.0


def _poisson_tail(count: int, mean: float) -> float:
    """Return the probability of so many or more."""
    return 1.0 - math.exp(-mean) * math.fsum(mean**number / math.factorial(number) for number in range(count))


def _spike_share(values: Floats, kept: NDArray[np.bool_]) -> float:
    """Return the share of the time that spikes take beyond usual reports."""
    seconds = np.exp(values)
    beyond = seconds[~kept] - np.median(seconds[kept])
    return float(np.sum(np.maximum(beyond, 0.0)) / np.sum(seconds))


def _effect(
    before: Sequence[StepSample],
    after: Sequence[StepSample],
    change: LevelChange,
    faults: Sequence[str],
    kept: tuple[NDArray[np.bool_], NDArray[np.bool_]],
) -> MeasuredEffect:
    """Return the effect. Its durations leave out the same spikes as the estimate (`kept`), so that both agree."""
    usual_before, usual_after = list(compress(before, kept[0])), list(compress(after, kept[1]))
    return MeasuredEffect(
        gain=math.exp(-change.change),
        gain_low=math.exp(-change.change - change.half_width),
        gain_high=math.exp(-change.change + change.half_width),
        step_seconds_before=_mean_seconds(usual_before),
        step_seconds_after=_mean_seconds(usual_after),
        tokens_per_second_before=_tokens_per_second(usual_before),
        tokens_per_second_after=_tokens_per_second(usual_after),
        peak_bytes_before=_peak(before),
        peak_bytes_after=_peak(after),
        steps_before=round(sum(each.steps for each in before)),
        steps_after=round(sum(each.steps for each in after)),
        faults=tuple(faults),
    )


def _mean_seconds(samples: Sequence[StepSample]) -> float:
    return sum(each.step_seconds * each.steps for each in samples) / sum(each.steps for each in samples)


def _tokens_per_second(samples: Sequence[StepSample]) -> float | None:
    if any(each.tokens is None for each in samples):
        return None
    tokens = sum((each.tokens or 0.0) * each.steps for each in samples)
    seconds = sum(each.step_seconds * each.steps for each in samples)
    return tokens / seconds if seconds > 0 else None
