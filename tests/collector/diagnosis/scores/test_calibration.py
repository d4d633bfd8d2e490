"""Calibrated probabilities match the frequency of being right."""

from pathlib import Path

import numpy as np
import pytest

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.calibration import (
    ENOUGH,
    MANY,
    Calibration,
    Floats,
    Labelled,
    Provenance,
    fit,
    read,
    shipped,
    write,
)
from flyball_collector.diagnosis.scores.evidence import sigmoid

CPU = "bottleneck_cpu"


def drawn(count: int, slope: float, offset: float, seed: int = 3) -> list[Labelled]:
    """Return labelled scores whose truth follows a sigmoid."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(-1, 5, count)
    right = rng.random(count) < sigmoid(slope * scores + offset)
    return [Labelled(CPU, float(score), bool(true)) for score, true in zip(scores, right, strict=True)]


@pytest.mark.parametrize("count", [400, 4 * MANY])
def test_probabilities_match_the_share_that_is_right(count: int) -> None:
    """This holds for labels that were not fitted, with a sigmoid for few and with steps for many labels."""
    calibration = fit(drawn(count, 0.5, -0.5))
    fresh = drawn(20_000, 0.5, -0.5, seed=4)
    found = calibration.probability(CPU, np.array([one.score for one in fresh]))
    right = np.array([one.right for one in fresh])
    for low in np.arange(0.4, 0.8, 0.1):
        inside = (found >= low) & (found < low + 0.1)
        assert abs(right[inside].mean() - found[inside].mean()) < 0.08
    assert bool(calibration.curves[CPU].knots) == (count >= MANY)


def test_more_evidence_never_lowers_the_probability() -> None:
    """Contradicting labels make the curve flat, not falling."""
    odd = [Labelled(CPU, score, score < 1) for score in np.linspace(0, 2, 60)]
    found = fit(odd).probability(CPU, np.array([0.0, 1.0, 2.0]))
    assert (np.diff(found) >= 0).all()


def test_no_probability_is_zero_or_one() -> None:
    """Few labels cannot distinguish never from rarely, however cleanly they are separated."""
    parted = [Labelled(CPU, 3.0, True)] * 50 + [Labelled(CPU, -4.0, False)] * 250
    found = fit(parted).probability(CPU, np.array([-4.0, 3.0, 10.0]))
    assert 0 < found[0] < 0.05
    assert 0.9 < found[1] < found[2] < 1


@pytest.mark.parametrize(
    ("absent", "present"),
    [
        (np.linspace(-12, -4, 273), np.linspace(0.2, 3.3, 13)),
        (np.linspace(-18.8, -14.2, 280), np.linspace(2.3, 5.2, 31)),
    ],
)
def test_few_labels_with_a_wide_gap_have_a_curve(absent: Floats, present: Floats) -> None:
    """Plain Newton steps would diverge here and call the present ones impossible."""
    labelled = [Labelled(CPU, float(score), False) for score in absent]
    labelled += [Labelled(CPU, float(score), True) for score in present]
    found = fit(labelled).probability(CPU, np.array([absent[0], absent[-1], present[-1]]))
    assert (found[:2] < 0.2).all()
    assert found[2] > 0.8


def test_positive_labels_alone_are_not_fitted() -> None:
    """Without negative labels any probability would fit."""
    assert not fit([Labelled(CPU, 3.0, True)] * 50).knows(CPU)


def test_kinds_without_enough_labels_stay_uncalibrated() -> None:
    """This is visible."""
    calibration = fit([Labelled(CPU, 3.0, True)] * (ENOUGH - 1))
    assert not calibration.knows(CPU)
    np.testing.assert_allclose(calibration.probability(CPU, np.array([0.0, 2.0])), sigmoid(np.array([0.0, 2.0])))


@pytest.mark.parametrize("count", [100, 2 * MANY])
def test_the_data_file_restores_the_curves(tmp_path: Path, count: int) -> None:
    """Curves that are written and read are equal."""
    calibration = fit(drawn(count, 0.8, 0.2))
    write(calibration, tmp_path / "calibration.json", Provenance(("1",), ("spinners",), count))
    assert read((tmp_path / "calibration.json").read_text()) == calibration


def test_the_shipped_calibration_has_known_kinds() -> None:
    """Its curves rise."""
    assert isinstance(shipped(), Calibration)
    for kind in shipped().curves:
        assert kind in BY_NAME
        assert (np.diff(shipped().probability(kind, np.linspace(-5, 10, 50))) >= 0).all()
