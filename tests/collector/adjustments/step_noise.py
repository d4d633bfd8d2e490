"""Simulated reports of a training around a change, with the noise that real step times have."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.adjustments.adjustment import MeasuredEffect
from flyball_collector.adjustments.effect.effect import EffectLimits, EffectVerdict, measure, verdict
from flyball_collector.adjustments.effect.series import StepSample

Floats = NDArray[np.float64]

FIRST_LOOK, LAST_LOOK, LOOK_EVERY = 20, 120, 20
"""Reports after the change at which its effect is looked at, as the governor does."""

STEPS_PER_REPORT = 5


@dataclass(frozen=True, slots=True)
class Noise:
    """The size of each part, as a share of the step time."""

    white: float = 0.01  # with heavy tails: Student's t with 5 degrees of freedom
    slow: float = 0.01  # AR(1) …
    correlation: float = 0.7  # … of neighbouring reports
    drift: float = 0.0  # in 100 reports
    wave: float = 0.0
    wave_reports: float = 300.0
    spikes: float = 0.01  # share of the reports, each 1.5 to 5 times as long

    def series(self, length: int, random: np.random.Generator) -> Floats:
        """Return the logarithms of step times around zero."""
        at = np.arange(length)
        shocks = random.normal(0, self.slow * np.sqrt(1 - self.correlation**2), length)
        shocks[0] = random.normal(0, self.slow)
        slow = np.zeros(length)
        for place in range(length):
            slow[place] = shocks[place] + (self.correlation * slow[place - 1] if place else 0.0)
        white = random.standard_t(5, length) * self.white / np.sqrt(5 / 3)
        phase = random.uniform(0, 2 * np.pi)
        wave = self.wave * np.sin(2 * np.pi * at / self.wave_reports + phase)
        spikes = np.where(random.random(length) < self.spikes, np.log(random.uniform(1.5, 5.0, length)), 0.0)
        series: Floats = slow + white + wave + self.drift * at / 100 + spikes
        return series


def any_noise(random: np.random.Generator) -> Noise:
    """Return the noise of some training: from a quiet GPU job to a learner on a shared machine."""
    return Noise(
        white=random.uniform(0.002, 0.05),
        slow=random.uniform(0.001, 0.025),
        correlation=random.uniform(0.0, 0.9),
        drift=random.choice([0.0, 1.0]) * random.uniform(-0.015, 0.015),
        wave=random.choice([0.0, 1.0]) * random.uniform(0.0, 0.01),
        wave_reports=random.uniform(100, 600),
        spikes=random.uniform(0.0, 0.03),
    )


def samples(logarithms: Floats, *, first: int = 0, seconds: float = 0.2) -> list[StepSample]:
    """Return reports with these step times; the first one follows after so many others."""
    return [
        StepSample(
            seconds=float(first + number),
            step=(first + number + 1) * STEPS_PER_REPORT,
            steps=STEPS_PER_REPORT,
            step_seconds=seconds * float(np.exp(value)),
        )
        for number, value in enumerate(logarithms)
    ]


@dataclass(frozen=True, slots=True)
class Watched:
    """The end of a watch."""

    effect: MeasuredEffect
    verdict: EffectVerdict
    reports: int


def watch(before: Sequence[StepSample], after: Sequence[StepSample], limits: EffectLimits | None = None) -> Watched:
    """Look at the reports after a change until there is a verdict."""
    for reports in range(FIRST_LOOK, LAST_LOOK + 1, LOOK_EVERY):
        final = reports >= LAST_LOOK
        effect = measure(before, after[:reports], limits, final=final)
        assert effect is not None
        found = verdict(effect, limits, final=final)
        if found is not EffectVerdict.WAIT:
            return Watched(effect, found, reports)
    raise AssertionError("the last look must have a verdict")


def watched(seed: int, slower: float, before: int | None = None) -> Watched:
    """Make the steps of a simulated training longer by a factor, and watch it. The first reports are cold."""
    random = np.random.default_rng(seed)
    length = before or int(random.choice([60, 120, 300, 600]))
    logarithms = any_noise(random).series(length + LAST_LOOK, random)
    later = logarithms[length:] + np.log(slower)
    later[:2] += random.uniform(0, 0.5, 2)
    return watch(samples(logarithms[:length]), samples(later, first=length))
