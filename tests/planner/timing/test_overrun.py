"""Tests of what complete runs take beyond their steps."""

import csv
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.accuracy.published_runs import FILE, STEPS_ALONE, complete_runs
from flyball_planner.catalogue.machines import machine
from flyball_planner.interval import Interval
from flyball_planner.models.families import model_cost
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.timing.overrun import (
    CLUSTER,
    FEW,
    IMAGES,
    LOST,
    MANY,
    class_of,
    overrun,
    overrun_law,
    takes_images,
)
from flyball_planner.timing.training_run import Habits, whole_run

STEP = Interval(0.8, 1.0, 1.25)
A100S = machine("A100 SXM4 80GB", 256, network="1600 Gbps")


@given(st.integers(1, 20_000), st.booleans(), st.floats(1.0, 3.0))
def test_no_run_is_shorter_than_its_steps(devices: int, measured: bool, width: float) -> None:
    """The factor is at least 1 for every plan, and its interval holds the middle."""
    cluster = machine("A100 SXM4 80GB", devices, network="1600 Gbps")
    found = overrun(cluster, Interval(1 / width, 1.0, width), measured=measured)
    assert 1.0 <= found.factor < 3.0
    assert found.interval(10.0).low <= 10.0 <= found.interval(10.0).high


def test_a_measured_step_leaves_only_what_is_lost_between_steps() -> None:
    """With measured runs the software is known, so the run is shorter and more certain."""
    cold, measured = (overrun(A100S, STEP, measured=known) for known in (False, True))
    assert measured.factor < cold.factor
    assert measured.deviation < cold.deviation


def test_a_less_certain_step_makes_a_less_certain_run() -> None:
    """A step's interval widens the run's, unless it is narrower than those of the published runs."""
    narrow, usual, wide = (
        overrun(A100S, Interval(1 / each, 1.0, each), measured=False).deviation for each in (1.01, 1.05, 3.0)
    )
    assert narrow == usual < wide
    assert wide < math.log(3.0)


def test_clusters_and_single_machines_are_two_classes() -> None:
    """Clusters lose more than single machines, and images more than both; a measured pace is the most certain."""
    assert (class_of(CLUSTER - 1), class_of(CLUSTER)) == (FEW, MANY)
    few, many, images, lost = map(overrun_law, (FEW, MANY, IMAGES, LOST))
    assert lost.middle < few.middle < many.middle < images.middle
    assert lost.scatter < min(few.scatter, many.scatter, images.scatter)


def test_images_wait_for_a_loader_that_is_not_planned() -> None:
    """Trainings on images lose more than others on as many devices; networks and vision transformers are known."""
    assert takes_images(model_cost("resnet50", {}))
    assert takes_images(named_shape("deit-base"))
    assert not takes_images(named_shape("gpt2"))
    assert class_of(8, images=True) == class_of(256, images=True) == IMAGES
    plain, loaded = (overrun(A100S, STEP, measured=False, images=images).factor for images in (False, True))
    assert loaded > plain
    assert overrun(A100S, STEP, measured=True, images=True) == overrun(A100S, STEP, measured=True)


def test_a_loader_catches_up_while_a_step_is_overhead() -> None:
    """The more of a step is launches and Python, the less it waits for images; nothing else depends on that share."""
    factors = [overrun(A100S, STEP, measured=False, images=True, overhead=share).factor for share in (0.0, 0.5, 1.0)]
    plain = [overrun(A100S, STEP, measured=False, overhead=share).factor for share in (0.0, 1.0)]
    assert factors[0] > factors[1] > factors[2]
    assert factors[2] == pytest.approx(plain[0]) == plain[1]


def test_the_run_states_its_steps_separately() -> None:
    """The steps alone, the overrun, the goodput and the energy describe one and the same run."""
    found = whole_run(STEP, 100_000, A100S, 0.5, Habits(checkpoint_bytes=1e11))
    assert found.steps_alone == STEP.times(100_000)
    assert found.goodput == pytest.approx(found.steps_alone.middle / found.seconds.middle)
    assert found.seconds.middle > found.overrun * found.steps_alone.middle
    assert found.device_hours.high == pytest.approx(found.seconds.high * 256 / 3600)
    watts = found.energy_joules.middle / found.seconds.middle
    assert watts == pytest.approx(256 * found.device_watts * 1.4 * 1.2)


def test_every_published_run_can_be_checked() -> None:
    """Each row has a source, and its family has laws that were fitted without it."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert len(rows) >= 30
    assert all(len(row["source"]) > 10 and row["counted"] in {"wall", "hours", STEPS_ALONE} for row in rows)
    assert {row["compared"] for row in rows} == {"yes", "quoted", "partly", ""}
    for run in complete_runs():
        name = class_of(run.machine.devices, images=takes_images(run.subject))
        assert overrun_law(name, run.family) != overrun_law(name)
        assert run.steps > 1000
