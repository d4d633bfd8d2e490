"""The measured effect of an adjustment, and whether it is kept."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from flyball_collector.adjustments.effect.effect import EffectLimits, EffectVerdict, loss_faults, measure, verdict
from flyball_collector.adjustments.effect.series import StepSample
from tests.collector.adjustments.step_noise import Noise, Watched, samples, watched

QUIET = Noise(white=0.005, slow=0.002, spikes=0.0)
SEEDS = range(10_000, 10_110)
"""The numbers of step_change.py were chosen with seeds below 1,000. `tests.benchmarks.adjustment_effects` uses more."""

HARMS = (1.05, 1.08, 1.15, 1.3, 1.5)


def quiet(length: int, factor: float = 1.0, first: int = 0, seed: int = 1) -> list[StepSample]:
    """Return reports with little noise."""
    series = QUIET.series(length, np.random.default_rng(seed + first))
    return samples(series + math.log(factor), first=first)


def changed(
    before: Callable[[StepSample], StepSample], after: Callable[[StepSample], StepSample]
) -> tuple[list[StepSample], list[StepSample]]:
    """Return quiet reports before and after, each changed by a function."""
    return [before(each) for each in quiet(120)], [after(each) for each in quiet(60, first=120)]


@pytest.fixture(scope="module")
def harmed() -> list[Watched]:
    """Watches of changes that make a step 5 to 50 % longer."""
    return [watched(seed, HARMS[seed % len(HARMS)]) for seed in SEEDS]


@pytest.fixture(scope="module")
def harmless() -> list[Watched]:
    """Watches of changes that do nothing."""
    return [watched(seed, 1.0) for seed in SEEDS]


def test_the_true_gain_is_inside_of_the_interval(harmed: list[Watched], harmless: list[Watched]) -> None:
    """Of realistic series with correlated noise, drift and spikes, nine in ten intervals have the true gain."""
    true = [(each, 1 / HARMS[seed % len(HARMS)]) for seed, each in zip(SEEDS, harmed, strict=True)]
    true += [(each, 1.0) for each in harmless]
    inside = sum(each.effect.gain_low <= gain <= each.effect.gain_high for each, gain in true)
    assert inside >= 0.9 * len(true)


def test_harm_is_taken_back(harmed: list[Watched]) -> None:
    """Of changes that make a step 5 to 50 % longer, 99 % are rolled back because they are slower."""
    taken_back = [each for each in harmed if each.verdict is EffectVerdict.ROLL_BACK and "slower" in each.effect.faults]
    assert len(taken_back) >= 0.99 * len(harmed)


def test_what_does_no_harm_is_kept(harmless: list[Watched]) -> None:
    """Of changes that do nothing, 95 % are kept."""
    kept = [each for each in harmless if each.verdict is EffectVerdict.KEEP]
    assert len(kept) >= 0.95 * len(harmless)


def test_a_long_gain_is_found_soon() -> None:
    """A change that makes a learner eight times as fast is measured within a few percent, from few reports."""
    effect = measure(quiet(40), quiet(25, 1 / 8, first=40))
    assert effect is not None
    assert effect.gain == pytest.approx(8, rel=0.03)
    assert verdict(effect) is EffectVerdict.KEEP
    assert effect.step_seconds_before == pytest.approx(8 * effect.step_seconds_after, rel=0.05)


def test_too_few_reports_have_no_effect() -> None:
    """With less than five reports on a side, after the warm-up, nothing is measured."""
    assert measure(quiet(4), quiet(50, first=4)) is None
    assert measure(quiet(50), quiet(7, first=50)) is None
    assert measure(quiet(50), quiet(8, first=50)) is not None


def test_the_first_reports_after_the_change_do_not_count() -> None:
    """Steps that are long because caches are cold do not make a change slower."""
    before, after = quiet(100), quiet(40, first=100)
    cold = [replace(each, step_seconds=3 * each.step_seconds) for each in after[:3]] + after[3:]
    assert measure(before, cold) == measure(before, after)


def test_rare_long_steps_do_not_count() -> None:
    """A checkpoint after the change, as there were some before it, changes neither the gain nor the verdict."""

    def with_checkpoints(reports: Sequence[StepSample], every: int) -> list[StepSample]:
        return [
            replace(each, step_seconds=4 * each.step_seconds) if number % every == 10 else each
            for number, each in enumerate(reports)
        ]

    effect = measure(with_checkpoints(quiet(200), 50), with_checkpoints(quiet(60, first=200), 40))
    assert effect is not None
    assert effect.faults == ()
    assert effect.gain == pytest.approx(1, abs=0.01)


def test_a_drift_that_was_there_before_is_not_an_effect() -> None:
    """Steps that become longer by 3 % in a hundred reports, before and after the change, are not made so by it."""
    noise = replace(QUIET, drift=0.03).series(400, np.random.default_rng(5))
    effect = measure(samples(noise[:300]), samples(noise[300:], first=300), final=True)
    assert effect is not None
    assert effect.gain_low <= 1 <= effect.gain_high
    assert effect.faults == ()


def test_earlier_waves_widen_the_interval() -> None:
    """A difference is not evidence if step times went up and down by as much before."""
    random = np.random.default_rng(6)
    waves = replace(QUIET, wave=0.03, wave_reports=90).series(540, random)
    calm = QUIET.series(540, random)
    widths = []
    for series in (waves, calm):
        effect = measure(samples(series[:480]), samples(series[480:], first=480), final=True)
        assert effect is not None
        widths.append(effect.gain_high - effect.gain_low)
    assert widths[0] > 3 * widths[1]


def test_speed_is_measured_in_tokens_if_all_reports_have_them() -> None:
    """Steps that take twice as long for twice as many tokens are as fast as before."""
    before, after = changed(
        lambda each: replace(each, tokens=1000.0),
        lambda each: replace(each, tokens=2000.0, step_seconds=2 * each.step_seconds),
    )
    effect = measure(before, after)
    assert effect is not None
    assert effect.gain == pytest.approx(1, abs=0.02)
    assert effect.tokens_per_second_before == pytest.approx(1000 / 0.2, rel=0.02)
    assert effect.tokens_per_second_after == pytest.approx(1000 / 0.2, rel=0.02)
    without = [*before[:-1], replace(before[-1], tokens=None)]
    slower = measure(without, after)
    assert slower is not None
    assert slower.gain == pytest.approx(0.5, rel=0.02)
    assert slower.tokens_per_second_before is None


def test_more_memory_than_promised_is_a_fault() -> None:
    """A peak that grows by 5 % is taken back, unless that much was predicted or memory is not judged."""
    before, after = changed(
        lambda each: replace(each, peak_bytes=100_000), lambda each: replace(each, peak_bytes=105_000)
    )
    effect = measure(before, after)
    assert effect is not None
    assert effect.faults == ("memory",)
    assert verdict(effect) is EffectVerdict.ROLL_BACK
    for limits in (EffectLimits(memory=1.05), EffectLimits(memory=None)):
        allowed = measure(before, after, limits)
        assert allowed is not None
        assert allowed.faults == ()
        assert allowed.peak_bytes_after == 105_000


def test_a_loss_that_is_no_longer_finite_is_a_fault_at_once() -> None:
    """One report is enough; where losses were not finite before, the change is not to blame."""
    before, after = quiet(30), quiet(20, first=30)
    bad = [replace(after[0], finite=False)]
    assert loss_faults(before, bad) == ["loss_not_finite"]
    assert loss_faults(before, after) == []
    assert loss_faults([replace(before[0], finite=False), *before[1:]], bad) == []
    assert loss_faults([], bad) == []
    effect = measure(before, bad + after[1:])
    assert effect is not None
    assert effect.faults == ("loss_not_finite",)


def test_steps_that_have_become_irregular_are_a_fault() -> None:
    """Step times that vary three times as much, or that are often long, are taken back, although most are as before."""
    random = np.random.default_rng(9)
    noisy = replace(QUIET, white=0.2).series(60, random)
    effect = measure(quiet(200), samples(noisy - noisy.mean(), first=200), final=True)
    assert effect is not None
    assert effect.faults == ("unstable",)
    after = quiet(60, first=200)
    often = [replace(each, step_seconds=3 * each.step_seconds) if n % 6 == 5 else each for n, each in enumerate(after)]
    frequent = measure(quiet(200), often)
    assert frequent is not None
    assert frequent.faults == ("unstable",)


def test_protection_is_not_taken_back_because_steps_vary() -> None:
    """A change whose speed is not judged is kept although its steps vary, as they do on any busy host."""
    noisy = replace(QUIET, white=0.2).series(60, np.random.default_rng(9))
    effect = measure(quiet(200), samples(noisy - noisy.mean(), first=200), EffectLimits(speed=0.0), final=True)
    assert effect is not None
    assert effect.faults == ()


def test_a_change_may_cost_what_was_predicted() -> None:
    """A loss of 10 % is taken back, but not if a tenth was the price, nor if speed is not judged."""
    before, after = quiet(120), quiet(60, 1 / 0.9, first=120)
    for limits, faults in ((None, ("slower",)), (EffectLimits(speed=0.9), ()), (EffectLimits(speed=0.0), ())):
        effect = measure(before, after, limits)
        assert effect is not None
        assert effect.faults == faults
        assert verdict(effect, limits) is (EffectVerdict.ROLL_BACK if faults else EffectVerdict.KEEP)


def test_what_a_person_asked_for_is_taken_back_only_for_a_certain_loss() -> None:
    """A loss above 2 % whose interval includes 0 % at the end takes back what a rule did, not what a person did."""
    noise = replace(QUIET, white=0.06).series(200, np.random.default_rng(6))
    before, after = samples(noise[:100]), samples(noise[100:] + 0.03, first=100)
    by_person = EffectLimits(by_person=True)
    unclear = measure(before, after, by_person, final=True)
    assert unclear is not None
    assert unclear.gain < 0.98
    assert unclear.gain_high > 1.0
    assert unclear.faults == ()
    assert verdict(unclear, by_person, final=True) is EffectVerdict.KEEP
    by_rule = measure(before, after, final=True)
    assert by_rule is not None
    assert by_rule.faults == ("slower",)
    clear = measure(quiet(120), quiet(60, 1.03, first=120), by_person)
    assert clear is not None
    assert clear.gain_high < 1.0
    assert clear.faults == ("slower",)


def test_what_a_person_asked_for_may_make_steps_irregular() -> None:
    """Only speed, memory and the loss take back what a person asked for."""
    noisy = replace(QUIET, white=0.2).series(60, np.random.default_rng(9))
    after = samples(noisy - noisy.mean(), first=200)
    effect = measure(quiet(200), after, EffectLimits(by_person=True), final=True)
    assert effect is not None
    assert effect.faults == ()
    bad = [replace(each, finite=False) for each in after]
    assert loss_faults(quiet(200), bad) == ["loss_not_finite"]
    faulty = measure(quiet(200), bad, EffectLimits(by_person=True), final=True)
    assert faulty is not None
    assert faulty.faults == ("loss_not_finite",)


def test_shown_durations_agree_with_the_gain() -> None:
    """Long steps on one side change neither the gain nor the shown step time and tokens a second."""
    before, after = changed(
        lambda each: replace(each, tokens=1000.0),
        lambda each: replace(each, tokens=1000.0, step_seconds=each.step_seconds * (6 if each.step % 200 == 0 else 1)),
    )
    effect = measure(before, after)
    assert effect is not None
    assert any(each.step_seconds > 1.0 for each in after[3:])
    assert effect.step_seconds_before / effect.step_seconds_after == pytest.approx(effect.gain, rel=0.01)
    assert effect.tokens_per_second_after == pytest.approx(1000 / effect.step_seconds_after, rel=0.01)


def test_a_wide_interval_waits_for_more_reports() -> None:
    """The verdict is to wait while the reports do not show if a change does harm. At the end there is one."""
    noise = replace(QUIET, white=0.1).series(60, np.random.default_rng(11))
    before, after = samples(noise[:40]), samples(noise[40:], first=40)
    effect = measure(before, after)
    assert effect is not None
    assert verdict(effect) is EffectVerdict.WAIT
    last = measure(before, after, final=True)
    assert last is not None
    assert verdict(last, final=True) is (EffectVerdict.ROLL_BACK if last.faults else EffectVerdict.KEEP)
