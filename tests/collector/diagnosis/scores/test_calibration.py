"""Calibration: probabilities that hold."""

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
    fit,
    read,
    shipped,
    write,
)
from flyball_collector.diagnosis.scores.evidence import sigmoid

CPU = "bottleneck_cpu"


def drawn(count: int, slope: float, offset: float, seed: int = 3) -> list[Labelled]:
    """Statements whose truth follows a sigmoid."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(-1, 5, count)
    right = rng.random(count) < sigmoid(slope * scores + offset)
    return [Labelled(CPU, float(score), bool(said)) for score, said in zip(scores, right, strict=True)]


@pytest.mark.parametrize("count", [400, 4 * MANY])
def test_of_what_is_said_with_some_confidence_so_much_is_right(count: int) -> None:
    """On statements that were not fitted, both as a sigmoid of few and as steps of many labels."""
    calibration = fit(drawn(count, 0.5, -0.5))
    fresh = drawn(20_000, 0.5, -0.5, seed=4)
    said = calibration.probability(CPU, np.array([one.score for one in fresh]))
    right = np.array([one.right for one in fresh])
    for low in np.arange(0.4, 0.8, 0.1):
        inside = (said >= low) & (said < low + 0.1)
        assert abs(right[inside].mean() - said[inside].mean()) < 0.08
    assert bool(calibration.curves[CPU].knots) == (count >= MANY)


def test_more_evidence_never_means_less() -> None:
    """Labels that say the opposite make it flat, not falling."""
    odd = [Labelled(CPU, score, score < 1) for score in np.linspace(0, 2, 60)]
    said = fit(odd).probability(CPU, np.array([0.0, 1.0, 2.0]))
    assert (np.diff(said) >= 0).all()


def test_nothing_is_ever_certain() -> None:
    """However cleanly labels are parted: so few of them cannot tell never from seldom."""
    parted = [Labelled(CPU, 3.0, True)] * 50 + [Labelled(CPU, -4.0, False)] * 250
    said = fit(parted).probability(CPU, np.array([-4.0, 3.0, 10.0]))
    assert 0 < said[0] < 0.05
    assert 0.9 < said[1] < said[2] < 1


@pytest.mark.parametrize(
    ("absent", "present"),
    [
        (np.linspace(-12, -4, 273), np.linspace(0.2, 3.3, 13)),
        (np.linspace(-18.8, -14.2, 280), np.linspace(2.3, 5.2, 31)),
    ],
)
def test_labels_that_are_few_and_far_apart_have_a_curve(absent: Floats, present: Floats) -> None:
    """Plain steps of Newton's would be sent to infinity by the second, and call what was present impossible."""
    labelled = [Labelled(CPU, float(score), False) for score in absent]
    labelled += [Labelled(CPU, float(score), True) for score in present]
    said = fit(labelled).probability(CPU, np.array([absent[0], absent[-1], present[-1]]))
    assert (said[:2] < 0.2).all()
    assert said[2] > 0.8


def test_right_ones_alone_tell_nothing_of_doubt() -> None:
    """Without any that were wrong every confidence would fit."""
    assert not fit([Labelled(CPU, 3.0, True)] * 50).knows(CPU)


def test_kinds_without_enough_labels_stay_as_weighed() -> None:
    """And are known to be so."""
    calibration = fit([Labelled(CPU, 3.0, True)] * (ENOUGH - 1))
    assert not calibration.knows(CPU)
    np.testing.assert_allclose(calibration.probability(CPU, np.array([0.0, 2.0])), sigmoid(np.array([0.0, 2.0])))


@pytest.mark.parametrize("count", [100, 2 * MANY])
def test_the_data_file_says_the_same_again(tmp_path: Path, count: int) -> None:
    """Written and read: equal curves."""
    calibration = fit(drawn(count, 0.8, 0.2))
    write(calibration, tmp_path / "calibration.json")
    assert read((tmp_path / "calibration.json").read_text()) == calibration


def test_what_is_shipped_is_of_kinds_that_exist() -> None:
    """And its curves rise."""
    assert isinstance(shipped(), Calibration)
    for kind in shipped().curves:
        assert kind in BY_NAME
        assert (np.diff(shipped().probability(kind, np.linspace(-5, 10, 50))) >= 0).all()
