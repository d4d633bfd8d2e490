"""Tests of the learning rate of a plan."""

import pytest

from flyball_planner.plan.make import make_plan
from flyball_planner.plan.plan import TrainingSection
from flyball_planner.specification.reader import read_specification


def trained(model: str, more: str = "") -> TrainingSection:
    """Return the training section of a plan."""
    text = f"model: {model}\nhardware: A100_80GB_fp16\ntraining: {{batch_size: 64, steps: 10{more}}}\n"
    return make_plan(read_specification(text)).training


def test_a_given_learning_rate_is_kept() -> None:
    """The user's own rate is shown as such."""
    found = trained("gpt2", ", learning_rate: 0.0123")
    assert (found.learning_rate, found.learning_rate_basis) == (0.0123, "as specified")


@pytest.mark.parametrize(
    ("model", "more", "rate", "source"),
    [
        ("gpt2", "", 6.0e-4, "Brown"),
        ("llama-2-7b", "", 1.19e-4, "Brown"),
        ("llama-2-7b", ", method: lora", 2e-4, "Dettmers"),
        ("llama-2-70b", ", method: qlora", 1e-4, "Dettmers"),
        ("bert-base", "", 1e-4, "Devlin"),
        ("deit-base", "", 5e-4 * 64 / 512, "Touvron"),
        ("resnet50", ", optimizer: sgd-momentum", 0.1 * 64 / 256, "Goyal"),
        ("{name: mlp, d_in: 9, d_out: 2}", "", 1e-3, "Kingma"),
        ("mamba-2.8b", "", 1.58e-4, "Brown"),
    ],
)
def test_a_missing_learning_rate_is_recommended(model: str, more: str, rate: float, source: str) -> None:
    """Each kind of training has the usual rate of published ones, marked as a recommendation with its source."""
    found = trained(model, more)
    assert found.learning_rate == pytest.approx(rate, rel=0.02)
    assert found.learning_rate_basis.startswith("recommended: ")
    assert source in found.learning_rate_basis


def test_a_rate_beyond_the_published_sizes_is_called_extrapolated() -> None:
    """GPT-3's models have 125 M to 175 B parameters, so no model of another size is claimed."""
    assert "between those of GPT-3's models of 125 M to 175 B" in trained("gpt2-medium").learning_rate_basis
    huge = trained("llama-3.1-405b", ", method: full").learning_rate_basis
    assert "extrapolated from GPT-3's largest model of 175 B parameters" in huge


def test_a_classical_model_has_no_learning_rate() -> None:
    """Trees are not trained in gradient steps."""
    text = "model: {name: decision_tree, n: 1000, p: 5}\nhardware: CPU_8C_3.5Ghz_baseline\n"
    found = make_plan(read_specification(text)).training
    assert (found.learning_rate, found.learning_rate_basis) == (None, "")
