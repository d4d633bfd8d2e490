"""Tests of refusing implausible measured runs."""

import pytest
from msgspec.structs import replace

from flyball_planner.calibration.measured_runs import MeasuredRun
from flyball_planner.calibration.plausibility import plausible, reason_against
from tests.planner.calibration.runs import fit, gpt, larger, slower


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (replace(gpt(), step_seconds=1e-3), "of the arithmetic of 8 × A100 SXM4 80GB; is it in seconds"),
        (slower(gpt(), 1000), "a unit or a setting is probably wrong"),
        (slower(fit(100_000), 0.01), "a unit or a setting is probably wrong"),
        (replace(gpt(), allocated_bytes=90e9), "exceeds the 80.0 GiB"),
        (larger(gpt(), 0.01), "a unit or a setting is probably wrong"),
    ],
)
def test_implausible_runs_are_refused_with_a_reason(run: MeasuredRun, reason: str) -> None:
    """Runs faster than the device, larger than its memory or far from the estimate are refused."""
    assert reason in reason_against(run)
    assert plausible([run, slower(gpt(), 1.5)])[0] == [slower(gpt(), 1.5)]


@pytest.mark.parametrize("times", [0.7, 1.0, 4.0])
def test_plausible_deviations_are_accepted(times: float) -> None:
    """A run that is several times slower than estimated is accepted."""
    assert reason_against(slower(gpt(), times)) == ""
