"""Settings of the next start."""

import pytest

from flyball_collector.advice.advice import Advice, Effort, Gain, Safety
from flyball_collector.diagnosis.subject import Subject
from tests.collector.adjustments.rules.runs import BY_RULE, event, find, situation, to_of, value

MIXED = Advice(
    rule="mixed_precision",
    subject=Subject("a"),
    because="tensor cores are not used",
    change="train in bfloat16",
    gain=Gain(1.0, 3.0),
    confidence=0.6,
    effort=Effort.CODE,
    safety=Safety.CONSENT,
    changes_results=True,
    source="a test",
)


@pytest.mark.parametrize(("now", "to"), [("fp32", "bf16"), ("bf16", None), ("fp16", None)])
def test_unused_tensor_cores_lead_to_bf16(now: str, to: str | None) -> None:
    """Only fp32 is changed for speed."""
    assert to_of(find("change_precision", [value("precision", now)], situation(advice=(MIXED,)))) == to


@pytest.mark.parametrize(("now", "to"), [("fp16", "bf16"), ("fp32", None)])
def test_an_overflow_of_fp16_leads_to_bf16(now: str, to: str | None) -> None:
    """A loss that is not finite is a reason only for a format of narrow range."""
    assert to_of(find("change_precision", [value("precision", now)], situation(event("loss_not_finite")))) == to


def test_a_lost_gpu_leads_to_the_cpu() -> None:
    """The CPU is proposed for the next start, if it is a choice and not in use."""
    lost = situation(event("gpu_lost"))
    assert to_of(find("fall_back_to_cpu", [value("device")], lost)) == "cpu"
    assert find("fall_back_to_cpu", [value("device", "cpu")], lost) is None
    assert find("fall_back_to_cpu", [value("device", choices=("cuda",))], lost) is None


@pytest.mark.parametrize("rule", ["change_precision", "fall_back_to_cpu"])
def test_a_value_that_acts_at_once_is_left_alone(rule: str) -> None:
    """Precision and device are never changed within a running process."""
    lever = BY_RULE[rule].lever
    found = situation(event("gpu_lost"), event("loss_not_finite"), advice=(MIXED,))
    assert find(rule, [value(lever)], found) is not None
    assert find(rule, [value(lever, when="step")], found) is None


def test_people_decide_about_a_restart() -> None:
    """These rules have class 3 or 4, which no policy allows a machine."""
    assert {BY_RULE[rule].safety >= 3 for rule in ("change_precision", "fall_back_to_cpu")} == {True}
