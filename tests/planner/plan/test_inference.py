"""Tests of a plan's section on inference."""

import pytest

from flyball_planner.plan.make import make_plan
from flyball_planner.plan.plan import InferenceSection
from flyball_planner.report.render import ReportFormat, render
from flyball_planner.specification.reader import read_specification


def inferred(model: str, device: str = "A100_80GB_fp16", more: str = "batch_size: 8, steps: 10") -> InferenceSection:
    """Return the section of a plan."""
    found = make_plan(read_specification(f"model: {model}\nhardware: {device}\ntraining: {{{more}}}\n")).inference
    assert found is not None
    return found


def test_a_decoder_generates_with_a_cache() -> None:
    """The cache of Llama 3.1 8B holds 128 KiB per token: 2 × 32 layers × 8 heads × 128 × 2 bytes."""
    found = inferred("llama-3.1-8b", more="batch_size: 8, steps: 10, sequence: 4096").generation
    assert found is not None
    assert found.key_value_cache_bytes_per_token == 2 * 32 * 8 * 128 * 2
    assert found.key_value_cache_bytes == 4096 * found.key_value_cache_bytes_per_token
    assert found.weight_bytes == pytest.approx(16.06e9, rel=0.01)
    assert found.tokens_per_second == pytest.approx(1 / found.seconds_per_token.middle)
    assert found.prefill_seconds.middle > found.seconds_per_token.middle
    assert found.most_sequences > 20


def test_a_large_model_needs_several_devices() -> None:
    """Llama 3.1 70B has 141 GB of weights in 16 bits, which two A100 of 80 GB hold and one does not."""
    found = inferred("llama-3.1-70b")
    assert found.devices == 2
    assert found.generation is not None
    assert found.generation.memory_bytes_per_device.middle < 80 * 2**30


def test_a_model_that_no_node_holds_has_no_section() -> None:
    """Llama 3.1 405B does not fit into eight RTX 4090, so nothing is claimed about its inference."""
    text = "model: llama-3.1-405b\nhardware: RTX_4090_fp16\ntraining: {batch_size: 8, steps: 10}\n"
    assert make_plan(read_specification(text)).inference is None


def test_a_network_predicts_one_sample_and_a_batch() -> None:
    """An encoder and an image network have a forward pass, but generate nothing."""
    for model in ("bert-base", "resnet50"):
        found = inferred(model, more="batch_size: 256, steps: 10")
        assert found.generation is None
        assert found.batch > 1
        assert found.seconds_per_sample.middle < found.seconds_per_batch.middle
        assert found.samples_per_second > 1 / found.seconds_per_sample.middle
    assert inferred("resnet50").flops_per_sample == pytest.approx(2 * 4.1e9, rel=0.02)


def test_a_classical_model_predicts_with_its_weights() -> None:
    """A thousand samples together take less time each than one alone, which pays for the call."""
    found = inferred("{name: random_forest, n: 1e6, p: 50, trees: 200}", "CPU_8C_3.5Ghz_baseline", "")
    assert found.batch == 1000
    assert found.flops_per_sample > 200
    assert found.seconds_per_batch.middle < 1000 * found.seconds_per_sample.middle / 10


def test_a_chosen_batch_and_context_are_used() -> None:
    """Sixteen conversations of 8,192 tokens need sixteen caches, and yield more tokens per second together."""
    text = "model: llama-3.1-8b\nhardware: A100_80GB_fp16\ntraining: {batch_size: 8, steps: 10, sequence: 2048}\n"
    chosen = make_plan(read_specification(f"{text}inference: {{batch_size: 16, context: 8192}}\n")).inference
    alone = make_plan(read_specification(text)).inference
    assert chosen is not None
    assert alone is not None
    assert chosen.generation is not None
    assert alone.generation is not None
    assert (chosen.batch, chosen.generation.sequences, chosen.generation.context_tokens) == (16, 16, 8192)
    assert chosen.generation.key_value_cache_bytes == 64 * alone.generation.key_value_cache_bytes
    assert chosen.generation.tokens_per_second > 5 * alone.generation.tokens_per_second


def test_an_evaluation_that_generates_needs_a_cache_during_training() -> None:
    """A thousand tokens of GPT-2 need 2 × 12 layers × 768 numbers of two bytes each, as a part of the memory."""
    text = "model: gpt2\nhardware: A100_80GB_fp16\ntraining: {batch_size: 8, steps: 10, evaluation_tokens: 1000}\n"
    parts = {each.name: each.amount.middle for each in make_plan(read_specification(text)).memory.parts}
    assert parts["key_value_cache"] == pytest.approx(1000 * 2 * 12 * 768 * 2, rel=0.05)


@pytest.mark.parametrize(
    ("model", "samples", "measured"),
    [
        ("{name: linear_regression_normal, n: 20000, p: 50}", 1000, 118e-6),
        ("{name: linear_regression_normal, n: 20000, p: 50}", 1, 102e-6),
        ("{name: decision_tree, n: 20000, p: 50, depth: 39}", 1, 114e-6),
        ("{name: svm_rbf, n: 3000, p: 50, support: 0.74}", 1, 276e-6),
        ("{name: svm_rbf, n: 3000, p: 50, support: 0.74}", 1000, 253e-3),
    ],
)
def test_measured_predictions_are_in_the_interval(model: str, samples: int, measured: float) -> None:
    """Predictions by scikit-learn 1.9 on one core took times that the intervals hold."""
    found = inferred(model, "CPU_8C_3.5Ghz_baseline", "")
    seconds = found.seconds_per_sample if samples == 1 else found.seconds_per_batch
    assert seconds.holds(measured)


def test_a_state_space_model_generates_with_a_state_of_one_size() -> None:
    """Mamba 130M keeps 24 layers × 1536 channels × (16 + 4) numbers of two bytes, whatever the context."""
    text = "model: mamba-130m\nhardware: A100_80GB_fp16\ntraining: {batch_size: 8, steps: 10, precision: bf16}\n"
    plans = [
        make_plan(read_specification(f"{text}inference: {{context: {context}}}\n")) for context in (2048, 16 * 2048)
    ]
    found = [each.inference.generation for each in plans if each.inference and each.inference.generation]
    short, long = found
    assert short.key_value_cache_bytes == long.key_value_cache_bytes == 2 * 24 * 1536 * (16 + 4)
    assert short.key_value_cache_bytes_per_token == 0
    assert short.seconds_per_token == long.seconds_per_token
    assert long.prefill_seconds.middle == pytest.approx(16 * short.prefill_seconds.middle)
    assert "State of the sequences" in render(plans[0], ReportFormat.MARKDOWN)


def test_a_hybrid_keeps_a_state_and_a_cache() -> None:
    """Jamba's 4 attention layers keep 2 × 8 heads × 128 numbers of two bytes for each token of the context."""
    text = "model: jamba-v0.1\nhardware: B200\ntraining: {batch_size: 8, steps: 10, precision: bf16, sequence: 4096}\n"
    found = make_plan(read_specification(text)).inference
    assert found is not None
    assert found.generation is not None
    assert found.generation.key_value_cache_bytes_per_token == pytest.approx(4 * 2 * 8 * 128 * 2)
    assert found.generation.key_value_cache_bytes > 4096 * found.generation.key_value_cache_bytes_per_token


def test_a_context_beyond_the_learned_positions_is_a_warning() -> None:
    """GPT-2 has 1,024 positions; a model with rotary positions has no such limit."""
    warned = []
    for model in ("gpt2", "tinyllama-1.1b"):
        text = f"model: {model}\nhardware: A100_80GB_fp16\ntraining: {{batch_size: 8, steps: 10}}\n"
        plan = make_plan(read_specification(f"{text}inference: {{context: 100000}}\n"))
        warned.append([each for each in plan.warnings if "inference.context" in each])
    assert len(warned[0]) == 1
    assert "1,024 learned positions" in warned[0][0]
    assert warned[1] == []


def test_a_token_launches_only_the_experts_that_it_is_routed_to() -> None:
    """With 8 of 128 experts, a token of Qwen3 30B takes a few times as long as one of a dense model of 48 layers."""
    mixture, dense = (
        inferred(name, "H200", "batch_size: 1, steps: 1").generation for name in ("qwen3-30b-a3b", "gpt2-xl")
    )
    assert mixture is not None
    assert dense is not None
    assert mixture.seconds_per_token.middle < 6 * dense.seconds_per_token.middle
    together = "batch_size: 1, steps: 1}\ninference: {batch_size: 64"
    many = inferred("qwen3-30b-a3b", "H200", together).generation
    assert many is not None
    assert many.seconds_per_token.middle > 3 * mixture.seconds_per_token.middle


def test_a_tpu_launches_no_kernels() -> None:
    """XLA compiles a step, so a token waits for the memory only, and there is no second figure."""
    found = inferred("llama-2-7b", "TPU v4", "batch_size: 1, steps: 1, method: lora").generation
    assert found is not None
    assert found.limited_by == "memory bandwidth"
    assert found.engine_seconds_per_token is None
    assert found.seconds_per_token.middle == pytest.approx(found.weight_bytes / 1.2e12, rel=0.6)


def test_samples_beyond_the_learned_positions_are_a_warning() -> None:
    """GPT-2 has 1,024 positions; a training on longer samples is reported, one on as many is not."""
    text = "model: gpt2\nhardware: A100_80GB_fp16\ntraining: {{batch_size: 8, steps: 10, sequence: {}}}\n"
    longer, full = (make_plan(read_specification(text.format(sequence))) for sequence in (2048, 1024))
    assert any(each.startswith("training.sequence: gpt2 has 1,024 learned positions") for each in longer.warnings)
    assert not any("positions" in each for each in full.warnings)
