"""Tests of which measured runs are refused."""

import pytest
from msgspec.structs import replace

from flyball_planner.calibration.measured import MeasuredRun
from flyball_planner.calibration.plausible import plausible, reason_against
from tests.planner.calibration.runs import fit, gpt, larger, slower


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (replace(gpt(), step_seconds=1e-3), "of the arithmetic of 8 × A100 SXM4 80GB; is it in seconds"),
        (slower(gpt(), 1000), "a unit or a setting is wrong"),
        (slower(fit(100_000), 0.01), "a unit or a setting is wrong"),
        (replace(gpt(), allocated_bytes=90e9), "are more than the 80.0 GiB"),
        (larger(gpt(), 0.01), "a unit or a setting is wrong"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(run: MeasuredRun, said: str) -> None:
    """Faster than the device, larger than its memory, or a power of ten away from the estimate."""
    assert said in reason_against(run)
    assert plausible([run, slower(gpt(), 1.5)])[0] == [slower(gpt(), 1.5)]


@pytest.mark.parametrize("times", [0.7, 1.0, 4.0])
def test_what_is_only_off_is_learned_from(times: float) -> None:
    """A slow cluster is no mistake."""
    assert reason_against(slower(gpt(), times)) == ""
