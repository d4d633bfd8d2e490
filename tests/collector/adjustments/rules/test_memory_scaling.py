"""Memory as a function of the micro-batch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.adjustments.declared.declared_values import shared_value
from flyball_collector.adjustments.rules.memory_scaling import PeakFacts, peak_facts, predict_peak
from tests.collector.adjustments.rules.runs import GIB, adjustment, effect, ranks, value


def test_a_measured_fixed_part_makes_the_prediction_narrow() -> None:
    """10 GB fixed and 30 GB for 16 samples are 25 GB for 8, within 5 %."""
    peak = predict_peak(PeakFacts(40e9, 16.0, fixed_bytes=10e9), 8.0)
    assert [peak.low, peak.middle, peak.high] == pytest.approx([23.75e9, 25e9, 26.25e9])


def test_two_measured_sizes_give_the_growth_of_a_sample() -> None:
    """A growth from 8 to 16 samples that added 16 GB predicts 32 GB more for 32, within 10 %."""
    grown = adjustment("micro_batch", 8, 16, effect=effect(1.1, (int(24e9), int(40e9))))
    of = shared_value(ranks([value("micro_batch")]), "micro_batch")
    assert of is not None
    facts = peak_facts(of, 40e9, [grown])
    assert facts == PeakFacts(40e9, 16.0, None, 2e9)
    assert predict_peak(facts, 32.0).middle == pytest.approx(72e9)


@given(
    fixed=st.floats(0.0, 0.8), sample=st.floats(1e6, 1e9), micro=st.sampled_from([1, 2, 4, 8, 16]),
    to=st.sampled_from([1, 2, 4, 8, 16, 32]),
)  # fmt: skip
def test_without_measurements_the_truth_is_between_the_bounds(fixed: float, sample: float, micro: int, to: int) -> None:
    """For any fixed part of up to 80 % of the peak, the true peak of another size lies in the interval."""
    activations = sample * micro
    constant = activations * fixed / (1.0 - fixed)
    peak = predict_peak(PeakFacts(constant + activations, float(micro)), float(to))
    true = constant + sample * to
    assert peak.low <= true * (1 + 1e-9)
    assert true <= peak.high * (1 + 1e-9)


def test_a_peak_belongs_to_the_largest_size_that_ran() -> None:
    """After a reduction from 32 to 8, the peak, which never falls, is the one of 32."""
    of = shared_value(ranks([value("micro_batch", 8)]), "micro_batch")
    shrunk = adjustment("micro_batch", 32, 8, effect=effect(0.95, (int(70e9), int(70e9))))
    assert of is not None
    facts = peak_facts(of, 70e9, [shrunk])
    assert facts is not None
    assert facts.micro == 32.0
    assert facts.sample_bytes is None
    assert predict_peak(facts, 32.0).high == pytest.approx(70e9)


@pytest.mark.parametrize("peak", [None, 0.0])
def test_an_unknown_peak_predicts_nothing(peak: float | None) -> None:
    """Without the framework's figure there are no facts."""
    of = shared_value(ranks([value("micro_batch")]), "micro_batch")
    assert of is not None
    assert peak_facts(of, peak, []) is None
    assert peak_facts(of, 40 * GIB, []) is not None
