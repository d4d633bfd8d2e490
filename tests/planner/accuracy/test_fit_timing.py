"""Tests of the common distribution of the suites' coefficients."""

import numpy as np
import pytest
from msgspec.structs import replace

from flyball_planner.accuracy.fit_timing import START, START_SUITES, Evidence, evidence, settled
from flyball_planner.belief import Belief
from flyball_planner.timing.coefficients import NAMES

COMMON = Belief(
    NAMES, np.log([START[name][0] for name in NAMES]), np.diag([START[name][1] ** 2 for name in NAMES]), 0.1
)
NOTHING = Evidence(np.zeros((len(NAMES), len(NAMES))), np.zeros(len(NAMES)))
LAUNCH = NAMES.index("launch")


def knowing(logarithm: float) -> Evidence:
    """Return the evidence of a suite that knows the seconds of a launch very well, and nothing else."""
    certainty = np.zeros((len(NAMES), len(NAMES)))
    certainty[LAUNCH, LAUNCH] = 1e8
    return Evidence(certainty, certainty[LAUNCH] * logarithm)


def test_a_suite_that_changes_no_belief_has_no_evidence() -> None:
    """The evidence of a suite is its belief without the common one."""
    found = evidence(COMMON, COMMON)
    assert found.certainty == pytest.approx(NOTHING.certainty, abs=1e-9)
    assert found.pull == pytest.approx(NOTHING.pull, abs=1e-9)
    surer = replace(COMMON, covariance=COMMON.covariance / 2)
    assert evidence(surer, COMMON).certainty == pytest.approx(np.linalg.inv(COMMON.covariance))


@pytest.mark.parametrize("others", [0, 1, 8])
def test_suites_without_knowledge_do_not_count(others: int) -> None:
    """A single suite moves a coefficient by its weight against the start, however many suites know nothing of it."""
    middle, variance = settled([knowing(COMMON.middle[LAUNCH] + 0.6), *[NOTHING] * others], COMMON)
    assert middle[LAUNCH] - COMMON.middle[LAUNCH] == pytest.approx(0.6 / (1 + START_SUITES), abs=0.01)
    assert np.delete(middle - COMMON.middle, LAUNCH) == pytest.approx(np.zeros(len(NAMES) - 1), abs=1e-6)
    assert (variance > 0).all()


def test_suites_that_differ_widen_the_distribution() -> None:
    """The variance covers what the next suite may differ by."""
    alike = settled([knowing(COMMON.middle[LAUNCH])] * 4, COMMON)[1][LAUNCH]
    different = settled([knowing(COMMON.middle[LAUNCH] + each) for each in (-1.0, 1.0, -1.0, 1.0)], COMMON)[1][LAUNCH]
    assert different > 1.5 * alike
