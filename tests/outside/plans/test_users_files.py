"""Specifications with the names of other tools and people, which run unchanged."""

import json
from pathlib import Path

import pytest

from flyball.command import run
from flyball_planner.models.cost import ModelCost
from flyball_planner.plan.make import make_plan
from flyball_planner.specification.reader import read_specification
from flyball_planner.specification.specification import Specification

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.yaml"))
Captured = pytest.CaptureFixture[str]


def read(name: str) -> Specification:
    """Return a file's specification."""
    return read_specification((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_is_valid_and_planned(path: Path, capsys: Captured) -> None:
    """`flyball validate` and `flyball plan` end with status 0 for each file."""
    assert run(["validate", str(path)]) == 0, capsys.readouterr().out
    capsys.readouterr()
    assert run(["plan", str(path), "--format", "json"]) == 0, capsys.readouterr().err
    document = json.loads(capsys.readouterr().out)
    assert document["computation"]["estimated_train_seconds"]["middle"] > 0
    assert document["memory"]["verdict"] in {"fits", "uncertain", "does not fit"}


def test_every_key_of_the_printed_file_is_honoured() -> None:
    """Every key of the first users' file is honoured, and those that mean something else are explained."""
    found = read("printed")
    assert (found.model, found.training.global_batch, found.training.samples) == ("mlp", 64, 50_000 * 20)
    assert isinstance(found.subject, ModelCost)
    assert found.subject.parameters == 784 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10
    assert (found.training.optimizer.name, found.learning_rate) == ("adamw", 0.001)
    assert found.training.precision.name == "fp16"
    assert (found.machine.devices, found.machine.device.efficiency) == (1, 0.4)
    assert (found.device_counts, found.batch_sizes) == ((1, 2, 4, 8), (32, 64, 128))
    assert found.choices is not None
    assert (*found.choices.tensor, *found.choices.pipeline) == (1, 1)
    report = found.report
    assert (report.format, report.plots, report.recommendations, report.verbose) == ("markdown", True, True, True)
    assumptions = " | ".join(found.assumptions)
    for words in ("fp16 is mixed precision", "40 % of the peak rate, as hardware.efficiency states", "include_plots"):
        assert words in assumptions


def test_the_efficiency_changes_the_time() -> None:
    """Matrix products at half the share of the peak take about twice as long; the factor is in the time."""
    text = (FOLDER / "printed.yaml").read_text(encoding="utf-8").replace("batch_size: 64", "batch_size: 65536")
    text = text.replace("[512, 256, 128]", "[16384, 16384]")
    fast, slow = (
        make_plan(read_specification(text.replace("efficiency: 0.4", f"efficiency: {share}"))).computation
        for share in (0.6, 0.3)
    )
    ratio = slow.step_seconds.middle / fast.step_seconds.middle
    assert 1.7 < ratio < 2.05


def test_the_efficiency_changes_the_time_of_a_fit() -> None:
    """The matrix products of a classical model reach the stated share too."""
    text = (FOLDER / "regression.yaml").read_text(encoding="utf-8").replace("d: 50", "d: 5000")
    fast, slow = (
        make_plan(read_specification(text.replace("efficiency: 0.6", f"efficiency: {share}"))).computation
        for share in (0.8, 0.4)
    )
    assert slow.step_seconds.middle == pytest.approx(2 * fast.step_seconds.middle, rel=0.05)


def test_trainer_arguments_are_read() -> None:
    """The batch of a step follows from that of a device; sharding and checkpointing restrict the search."""
    found = read("huggingface_trainer")
    assert (found.training.global_batch, found.training.sequence) == (2 * 8 * 8, 2048)
    assert found.training.samples == 3 * 52_002
    assert (found.training.precision.name, found.training.optimizer.name) == ("bf16-autocast", "adamw-fused")
    layout = make_plan(found).layout
    assert (layout.micro_batch, layout.accumulation, layout.sharding, layout.checkpointing) == (2, 8, "zero3", "full")
    idle = next(each for each in found.assumptions if each.startswith("not part of an estimate"))
    assert "training_args.weight_decay" in idle
    assert "training_args.fp16" not in idle


def test_adapters_over_quantised_weights_are_read() -> None:
    """Names of PEFT and bitsandbytes give QLoRA with its rank and matrices."""
    training = read("qlora").training
    assert training.method.value == "qlora"
    assert training.lora is not None
    assert (training.lora.rank, len(training.lora.targets)) == (32, 7)
    assert training.optimizer.paged
    assert training.global_batch == 2 * 4


def test_a_layout_of_megatron_is_read() -> None:
    """Its sizes are the degrees of parallelism, and machines times devices give the devices."""
    found = read("megatron")
    assert found.layout is not None
    assert (found.layout.tensor, found.layout.pipeline, found.layout.data) == (8, 4, 2)
    assert (found.machine.devices, found.machine.nodes) == (64, 8)
    assert found.training.sequence == 2048


def test_keys_without_a_section_are_placed() -> None:
    """A flat file's keys belong to the sections that know them."""
    found = read("nanogpt")
    assert (found.machine.devices, found.training.global_batch, found.learning_rate) == (8, 480, 6e-4)
    assert found.training.samples == 600_000 * 480
    assert found.training.compiled
    assert found.choices is not None
    assert found.choices.micro_batch == (12,)
    resnet = read("resnet")
    assert resnet.training.optimizer.name == "sgd-momentum"
    assert resnet.training.samples == 90 * 1_281_167


def test_a_classical_model_is_not_trained_in_steps() -> None:
    """Optimizer, learning rate and batch of a classical model are named as unused; fp16 becomes fp32."""
    found = read("logistic")
    assert isinstance(found.subject, ModelCost)
    assert (found.subject.precision, found.subject.passes) == ("fp32", 15)
    text = " | ".join(found.assumptions)
    assert "model.optimizer, model.lr: not used" in text
    assert "compute in fp32 at least" in text
    assert "model.spec.batch_size" in text


def test_the_report_has_what_its_section_asks_for(tmp_path: Path, capsys: Captured) -> None:
    """Format, details, charts and recommendations of the report follow the first users' keys."""
    text = (FOLDER / "printed.yaml").read_text(encoding="utf-8")
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    assert run(["plan", str(path)]) == 0
    document = capsys.readouterr().out
    assert document.startswith("# mlp on")
    assert "## Recommendations" in document
    assert "0.001, as specified" in document
    assert "40 % of the peak rate" in document
    less = text.replace("include_plots: true", "include_plots: false")
    less = less.replace("include_recommendations: true", "include_recommendations: false")
    pages = []
    for each in (text, less):
        path.write_text(each.replace('"markdown"', '"html"'), encoding="utf-8")
        assert run(["plan", str(path)]) == 0
        pages.append(capsys.readouterr().out)
    assert ["<svg" in page for page in pages] == [True, False]
    assert ["Use a larger batch" in page for page in pages] == [True, False]
