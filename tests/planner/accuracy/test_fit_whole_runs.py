"""Tests of the fit of what complete runs take beyond their steps."""

import numpy as np
import pytest

from flyball_planner.accuracy.fit_whole_runs import RunColumns, laws, left_out_errors, middle_of, report, sample
from flyball_planner.accuracy.published_runs import (
    STEPS_ALONE,
    PlannedRun,
    complete_runs,
    family_of,
    planned,
    published_runs,
    round_batch,
)
from flyball_planner.accuracy.tables import RowConfiguration, TableRow
from flyball_planner.accuracy.whole_runs import published_outcome, states_pace, usual_devices
from flyball_planner.catalogue.devices import find_device
from flyball_planner.layouts.layout import CHECKPOINTING
from flyball_planner.timing.overrun import FEW, IMAGES, LOST, MANY, overrun_law
from flyball_planner.training import Attention

FAMILIES, RUNS_EACH = 30, 4


def invented(seed: int, scatter: float = 0.2, middle: float = 0.4, name: str = MANY) -> RunColumns:
    """Return runs of many families that follow a known law."""
    random = np.random.default_rng(seed)
    count = FAMILIES * RUNS_EACH
    families = tuple(f"family {each // RUNS_EACH}" for each in range(count))
    overruns = middle + np.repeat(random.normal(0, scatter, FAMILIES), RUNS_EACH)
    devices, steps = np.full(count, 256.0), np.full(count, 0.1)
    return RunColumns(families, families, (name,) * count, devices, overruns, steps, np.full(count, np.nan))


def changed(runs: RunColumns, overruns: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> RunColumns:
    """Return the same runs with other overruns."""
    return RunColumns(runs.names, runs.families, runs.classes, runs.devices, overruns, runs.step_deviations, runs.lost)


@pytest.mark.parametrize("seed", range(3))
def test_a_known_law_is_found(seed: int) -> None:
    """Middle and scatter of invented runs are recovered from noisy families."""
    found = laws(invented(seed))[MANY]
    assert found.middle == pytest.approx(0.4, abs=0.1)
    assert found.scatter == pytest.approx(0.2, abs=0.08)
    assert found.step_deviation == 0.1


def test_a_family_never_helps_to_judge_itself() -> None:
    """One family that takes twice as long is off by this factor, as if it had never been seen."""
    runs = invented(1, scatter=0.02)
    own = np.array([each == "family 3" for each in runs.families])
    raised = changed(runs, runs.overruns + np.log(2) * own)
    assert left_out_errors(raised)[own] == pytest.approx(left_out_errors(runs)[own] + np.log(2))


def test_one_outlier_hardly_moves_the_law() -> None:
    """A run that took five times as long moves the middle by less than three per cent."""
    runs = invented(2, scatter=0.05)
    wild = runs.overruns.copy()
    wild[0] += np.log(5)
    assert 0 < middle_of(changed(runs, wild), MANY) - middle_of(runs, MANY) < 0.03


def test_many_runs_of_one_family_count_like_a_few() -> None:
    """A family of fifty runs does not outvote twenty families of two."""
    families = tuple(f"family {each}" for each in range(20) for _ in range(2)) + ("large",) * 50
    overruns = np.array([0.3] * 40 + [0.6] * 50)
    runs = RunColumns(families, families, (MANY,) * 90, np.full(90, 256.0), overruns, np.zeros(90), np.full(90, np.nan))
    assert middle_of(runs, MANY) < 0.33


def test_few_devices_are_drawn_to_what_known_paces_lose() -> None:
    """A single slow run on a few devices moves their law only part of the way."""
    one = RunColumns(("a",), ("a",), (FEW,), np.ones(1), np.array([0.8]), np.zeros(1), np.array([0.02]))
    assert 0.02 < middle_of(one, FEW) < 0.4


@pytest.fixture(scope="module")
def few() -> list[PlannedRun]:
    """Return one planned run of each of several families."""
    wanted = ("croissant-1.3b", "llama-2-7b", "stablelm-3b-4e1t", "bloomberg-50b", "nanogpt-124m", "resnet-50-a1")
    return [planned(each) for each in published_runs() if each.name in wanted]


def test_published_runs_take_longer_than_their_steps(few: list[PlannedRun]) -> None:
    """Real runs give a law with a positive overrun, and a report with a line for each."""
    runs = sample(few)
    assert np.median(runs.overruns) > 0
    assert set(laws(runs)) == {FEW, MANY, IMAGES, LOST}
    lines = list(report(runs))
    assert [line.split()[0] for line in lines[1:7]] == list(runs.names)
    assert [line.split(",")[0] for line in lines[-5:]] == [
        "all: 6 runs",
        "few devices: 1 runs",
        "many devices: 4 runs",
        "images: 1 runs",
        "below 32 devices: 2 runs",
    ]


def test_published_runs_are_predicted_by_other_families(few: list[PlannedRun]) -> None:
    """Of six runs of six families, the left-out prediction is off by less than a half, and most intervals hold."""
    outcomes = [published_outcome(each) for each in few]
    assert all(0.5 < each.predicted.middle / each.measured < 2 for each in outcomes)
    assert sum(each.predicted.holds(each.measured) for each in outcomes) >= 5


def test_the_packaged_law_knows_every_family() -> None:
    """The packaged file has a law without each family, which differs from that of all."""
    for family in {run.family for run in complete_runs()}:
        assert any(overrun_law(name, family) != overrun_law(name) for name in (FEW, MANY, IMAGES))


def test_a_run_of_the_table_is_recognised() -> None:
    """Runs of other tables that state the same tokens and device-hours belong to the same family."""
    assert family_of(1.0e12, 82432) == "llama-1"
    assert family_of(1.0e12, 90000) == ""


@pytest.mark.parametrize(
    ("samples", "devices", "batch"), [(1953, 1024, 2048), (977, 2048, 1024), (2048, 384, 1920), (500, 8, 512)]
)
def test_a_batch_can_be_divided(samples: float, devices: int, batch: int) -> None:
    """A rounded batch means a power of two, unless the number of devices is not one."""
    assert round_batch(samples, devices) == batch


def test_an_unknown_number_of_devices_follows_the_size_of_the_run() -> None:
    """A run without its number of devices gets as many as need about three weeks, within 8 and 16,384."""
    a100 = find_device("A100 SXM4 80GB")
    counts = [usual_devices(flops, a100) for flops in (1e18, 1e22, 8e23, 1e27)]
    assert counts == sorted(counts)
    assert (counts[0], counts[2], counts[-1]) == (8, 4096, 16_384)


def row(hours: float, notes: str, **columns: str) -> TableRow:
    """Return a row of a table of runs."""
    return TableRow("runs.csv", "a", "all", RowConfiguration({"notes": notes, **columns}), {"gpu_hours": str(hours)})


@pytest.mark.parametrize(
    ("hours", "notes"),
    [
        (100.0, "10k tokens/s/GPU, no recomputation"),
        (100.0, "the larger one: ~10000 tokens/s/GPU"),
        (8 * 3.6, "~3600 ms/iter"),
        (8 * 2.8, "2.7-2.8 s/iter"),
    ],
)
def test_hours_that_equal_a_stated_pace_are_steps_alone(hours: float, notes: str) -> None:
    """Hours that are computed from tokens a second or from seconds a step contain nothing that a run loses."""
    shared = {"n_gpus": "8", "seq_len": "1000", "global_batch": "1000"}
    shared["tokens"] = "3.6e9"  # 3,600 steps of a million tokens
    found = row(hours, notes, **shared)
    assert states_pace(found)
    assert not states_pace(row(1.05 * hours, notes, **shared))
    assert not states_pace(row(hours, "no pace", **shared))


def test_hours_that_follow_from_a_pace_teach_nothing_about_losses() -> None:
    """No law is fitted to such rows, and they are judged by their steps alone."""
    paced = [run for run in published_runs() if run.counted == STEPS_ALONE]
    assert {run.name for run in paced} >= {"llama-1-65b", "tinyllama-300b", "pythia-6.9b"}
    assert not {run.name for run in complete_runs()} & {run.name for run in paced}
    tiny = planned(next(run for run in paced if run.name == "tinyllama-300b"))
    alone = tiny.estimate().steps_alone
    assert published_outcome(tiny).predicted == alone.times(tiny.run.machine.devices / 3600)


def test_steps_are_planned_as_the_source_states_the_software() -> None:
    """Micro-batch, recomputation and attention of a published run are those of its source, as a user states them."""
    run = next(each for each in published_runs() if each.name == "codeparrot-1.5b")
    assert (run.training.attention, run.training.global_batch) == (Attention.MATERIALISED, 512)
    assert (list(run.choices.micro_batch), [each.value for each in run.choices.checkpointing]) == ([2], ["full"])
    assert run.choices.checkpointing[0] in CHECKPOINTING
    usual = next(each for each in published_runs() if each.name == "llama-2-7b")
    assert (usual.training.attention, list(usual.choices.micro_batch)) == (Attention.FLASH, [])


def test_the_layout_of_a_published_run_is_that_of_its_source() -> None:
    """Tensor and pipeline parallelism are planned as stated; without a statement the plan chooses them."""
    runs = {run.name: run.choices for run in published_runs()}
    assert (list(runs["falcon-180b"].tensor), list(runs["falcon-180b"].pipeline)) == ([8], [8])
    assert (list(runs["llama-2-70b"].tensor), list(runs["llama-2-70b"].pipeline)) == ([], [])
