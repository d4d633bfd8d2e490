"""What several changes bring together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_audit.amdahl import estimate
from flyball_audit.finding import Finding, Gain, Severity, Time


def _finding(time: Time, up_to: float, rule: str = "") -> Finding:
    name = rule or f"{time}-{up_to}"
    return Finding(name, "a.py", 1, 1, Severity.WARNING, 0.8, "", "", "", "", 1, 2, Gain(time, up_to))


findings = st.lists(st.builds(_finding, st.sampled_from(Time), st.floats(1.0, 50.0)), max_size=8)
shares = st.dictionaries(st.sampled_from(Time), st.floats(0.0, 1.0), max_size=8)


def test_measured_shares_give_amdahls_law() -> None:
    """40 % of waiting made 4 times shorter and 50 % of computing made twice shorter leave 45 % of the step."""
    found = estimate([_finding(Time.INPUT, 4.0), _finding(Time.COMPUTE, 2.0)], {Time.INPUT: 0.4, Time.COMPUTE: 0.5})
    assert found is not None
    assert found.ratio == pytest.approx(1 / (0.1 + 0.25 + 0.1))
    assert found.at_most == pytest.approx(found.ratio)
    assert found.measured


def test_changes_of_the_same_time_count_once() -> None:
    """Compiling and flash attention shorten the same kernels: the greater counts, the other is named."""
    found = estimate(
        [_finding(Time.COMPUTE, 1.5, "b"), _finding(Time.COMPUTE, 2.0, "a"), _finding(Time.COMPUTE, 2.0, "a")]
    )
    assert found is not None
    assert found.at_most == pytest.approx(2.0)
    assert (found.parts[0].rule, found.parts[0].others) == ("a", ("b",))


def test_without_measurements_shares_are_assumed_and_the_best_case_is_told() -> None:
    """Two kinds and the rest have a third each; at most all of it gains as the better one does."""
    found = estimate([_finding(Time.HOST, 3.0), _finding(Time.COMPUTE, 2.0)])
    assert found is not None
    assert found.ratio == pytest.approx(1 / (1 / 9 + 1 / 6 + 1 / 3))
    assert found.at_most == pytest.approx(3.0)
    assert not found.measured


def test_what_takes_no_time_away_is_no_estimate() -> None:
    """Memory is no time, and a ratio of one no gain."""
    assert estimate([_finding(Time.MEMORY, 2.0), _finding(Time.HOST, 1.0)]) is None


@given(findings, shares)
def test_never_more_than_the_best_ratio_and_never_less_than_one(found: list[Finding], known: dict[Time, float]) -> None:
    """However many findings: multiplying them would break this law."""
    made = estimate(found, known)
    if made is None:
        return
    best = max(each.gain.up_to for each in found if each.gain is not None and each.gain.time is not Time.MEMORY)
    assert 1 - 1e-9 <= made.ratio <= made.at_most + 1e-9 <= best + 2e-9 * best
    assert sum(part.share for part in made.parts) == pytest.approx(1.0)


@given(findings, findings, shares)
def test_more_findings_never_bring_less_than_the_best_case_of_fewer(
    first: list[Finding], second: list[Finding], known: dict[Time, float]
) -> None:
    """The best case only grows."""
    fewer, more = estimate(first, known), estimate(first + second, known)
    if fewer is not None and more is not None:
        assert more.at_most >= fewer.at_most - 1e-9
