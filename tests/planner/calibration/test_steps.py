"""Tests of calibration by files of measured runs."""

from pathlib import Path

import msgspec
import pytest

from flyball_planner.calibration.measured_runs import MeasuredRun, read_runs
from flyball_planner.calibration.steps import calibrate_steps, compare, kind_of
from flyball_planner.errors import PlanError
from flyball_planner.layouts.columns import Layouts
from flyball_planner.timing.estimate import estimate_step

YAML = """
runs:
  - {model: gpt2, gpu: A100 SXM 80GB, devices: 8, sequence: 1024, global_batch: 512, step_seconds: 0.5}
  - {model: gpt2, gpu: A100 SXM 80GB, devices: 8, sequence: 1024, global_batch: 256, step_seconds: 0.26}
"""
CSV = "model,gpu,global_batch,step_seconds,compiled\nresnet50,A100 SXM 80GB,256,0.13,true\n"
JSON = '{"runs": [{"model": "gpt2", "gpu": "H100 SXM", "sequence": 1024, "global_batch": 8, "step_seconds": 0.1}]}'


def slower(times: float) -> list[MeasuredRun]:
    """Runs on a device that is so many times slower than estimated."""
    found = []
    for batch in (64, 128, 256, 512, 1024, 2048):
        run = MeasuredRun(
            model="gpt2-medium", gpu="A100 SXM 80GB", devices=8, sequence=1024, global_batch=batch, micro_batch=8,
            step_seconds=1.0,
        )  # fmt: skip
        estimate = estimate_step(run.subject, run.training, Layouts.of(run.layout), run.machine)
        found.append(msgspec.structs.replace(run, step_seconds=times * float(estimate.middle[0])))
    return found


@pytest.mark.parametrize(("name", "text", "runs"), [("a.yaml", YAML, 2), ("a.csv", CSV, 1), ("a.json", JSON, 1)])
def test_each_format_is_read(tmp_path: Path, name: str, text: str, runs: int) -> None:
    """YAML, JSON and CSV hold the same keys."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = read_runs(path)
    assert len(found) == runs
    assert found[0].step_seconds > 0
    assert found[0].layout.devices == found[0].devices


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("runs: []", "holds no run"),
        ("runs: {}", "no list of runs"),
        ("runs: [{model: gpt2}]", "run 1: Object missing required field"),
        ("runs: [{model: gpt2, gpu: a, global_batch: 1, step_seconds: 0}]", "must be above 0"),
        ("runs: [{model: gpt2, gpu: a, global_batch: 1, step_seconds: 1, tokens: 3}]", "unknown field `tokens`"),
    ],
)
def test_faults_are_told_with_their_place(tmp_path: Path, text: str, said: str) -> None:
    """The message names the file, the run and the key."""
    path = tmp_path / "runs.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match=said) as found:
        read_runs(path)
    assert "runs.yaml" in str(found.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    """An unknown ending or a missing file says what is read instead."""
    with pytest.raises(PlanError, match="cannot be read"):
        read_runs(tmp_path / "none.yaml")
    (tmp_path / "runs.txt").write_text("", encoding="utf-8")
    with pytest.raises(PlanError, match=r"\.yaml, \.json or \.csv"):
        read_runs(tmp_path / "runs.txt")


def test_a_slow_cluster_is_learned() -> None:
    """Of runs that all take 1.4 times as long, five teach at least two thirds of the difference, and surely."""
    compared = compare(slower(1.4))
    assert all(abs(each.error_before + 1 - 1 / 1.4) < 0.01 for each in compared)
    assert all(abs(each.error_after) < abs(each.error_before) / 3 for each in compared)
    assert all(each.after.width < each.before.width for each in compared)


def test_kinds_learn_apart() -> None:
    """What a transformer teaches does not change a network over images, nor another device."""
    run = MeasuredRun(model="resnet50", gpu="H100 SXM", global_batch=256, micro_batch=256, step_seconds=0.1)
    beliefs = calibrate_steps([*slower(1.2), run])
    assert len(beliefs) == 2
    assert kind_of(run) in beliefs
    assert {each.runs for each in beliefs.values()} == {6, 1}
