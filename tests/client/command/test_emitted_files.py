"""`--emit` and `--for`: files for training frameworks, beside the report."""

import json
from pathlib import Path

import pytest
import yaml

from flyball.command import run

Captured = pytest.CaptureFixture[str]
PLAN = (
    "model: gpt2\nhardware: {device: A100_80GB_fp16, devices: 8}\n"
    "training: {batch_size: 64, sequence: 1024, steps: 100, precision: bf16}\n"
    "layout: {micro_batch: 4, sharding: zero1}\n"
)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Write a specification whose layout is given."""
    path = tmp_path / "run.yaml"
    path.write_text(PLAN, encoding="utf-8")
    return path


def test_a_plan_is_emitted_beside_its_report(plan: Path, tmp_path: Path, capsys: Captured) -> None:
    """All frameworks by default; standard output has only the report, and the notes are on the standard error."""
    folder = tmp_path / "run"
    assert run(["plan", str(plan), "--emit", str(folder), "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["layout"]["sharding"] == "zero1"
    assert {path.name for path in folder.iterdir()} == {
        "README.md",
        "transformers.yaml",
        "accelerate.yaml",
        "deepspeed.json",
        "torchtitan.toml",
        "lightning.yaml",
        "torchrun.sh",
    }
    assert json.loads((folder / "deepspeed.json").read_text(encoding="utf-8"))["train_batch_size"] == 64
    assert "Note: torchtitan has no ZeRO-1" in captured.err


def test_only_the_wanted_frameworks_are_written(plan: Path, tmp_path: Path) -> None:
    """With the files that they need: these arguments name DeepSpeed's file."""
    folder = tmp_path / "run"
    assert run(["plan", str(plan), "--emit", str(folder), "--for", "transformers", "--format", "json"]) == 0
    assert {path.name for path in folder.iterdir()} == {"README.md", "transformers.yaml", "deepspeed.json"}


def test_existing_files_are_kept(plan: Path, tmp_path: Path, capsys: Captured) -> None:
    """A second run changes nothing and names the file."""
    words = ["plan", str(plan), "--emit", str(tmp_path / "run"), "--for", "lightning", "--format", "json"]
    assert run(words) == 0
    (tmp_path / "run" / "lightning.yaml").write_text("mine", encoding="utf-8")
    assert run(words) == 1
    assert "lightning.yaml exists already" in capsys.readouterr().err
    assert (tmp_path / "run" / "lightning.yaml").read_text(encoding="utf-8") == "mine"


def test_configurations_have_a_folder_each(tmp_path: Path) -> None:
    """Each kind is emitted into a folder of its name, with its own steps."""
    folder = tmp_path / "all"
    assert run(["configure", "RTX_4090_fp16", "--emit", str(folder), "--for", "transformers", "--format", "json"]) == 0
    steps = {
        path.name: yaml.safe_load((path / "transformers.yaml").read_text(encoding="utf-8"))["max_steps"]
        for path in folder.iterdir()
    }
    assert set(steps) == {"conservative", "balanced", "extreme"}
    assert len(set(steps.values())) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--for", "lightning"], "--for lightning needs --emit FOLDER"),
        (["--emit", "run.yaml"], "--emit run.yaml is a file; name a folder"),
    ],
)
def test_wrong_options_are_errors(
    words: list[str], message: str, plan: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the option."""
    monkeypatch.chdir(plan.parent)
    assert run(["plan", "run.yaml", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_model_without_steps_is_an_error(tmp_path: Path, capsys: Captured) -> None:
    """A forest is not trained in optimizer steps."""
    path = tmp_path / "forest.yaml"
    path.write_text(
        "model: {name: random_forest, n: 1000, p: 10}\nhardware: CPU_8C_3.5Ghz_baseline\n", encoding="utf-8"
    )
    assert run(["plan", str(path), "--emit", str(tmp_path / "run")]) == 2
    assert "is not trained in optimizer steps" in capsys.readouterr().err
