"""Tests of the keys that select which weights are trained, and how frozen ones are stored."""

import pytest

from flyball_planner.quantisation import QUANTISATIONS, Quantisation
from flyball_planner.specification.reader import read_specification
from flyball_planner.training import Method, Training
from flyball_reports.specification.problems import SpecificationError


def training(keys: str) -> Training:
    """Return the training of a specification with these keys."""
    return read_specification(f"model: llama-3.1-8b\nhardware: A100_80GB_fp16\ntraining: {{{keys}}}\n").training


def faults(keys: str) -> dict[str, str]:
    """Return the faults of these keys."""
    with pytest.raises(SpecificationError) as caught:
        training(keys)
    return {problem.key: problem.message for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("keys", "method", "name"),
    [
        ("method: qlora", Method.QLORA, "nf4"),
        ("quantization: nf4", Method.QLORA, "nf4"),
        ("quantization: nf4, double_quantization: false", Method.QLORA, "nf4-plain"),
        ("method: lora, quantization: int8", Method.LORA, "int8"),
        ("method: dora, quantization: nf4", Method.DORA, "nf4"),
        ("load_in_4bit: true", Method.QLORA, "fp4-plain"),
        ("load_in_4bit: true, bnb_4bit_quant_type: nf4, bnb_4bit_use_double_quant: true", Method.QLORA, "nf4"),
        ("load_in_4bit: true, bnb_4bit_quant_type: nf4, bnb_4bit_compute_dtype: bfloat16", Method.QLORA, "nf4-plain"),
        ("load_in_8bit: true", Method.QLORA, "int8"),
        ("load_in_4bit: false, method: lora", Method.LORA, ""),
        ("method: qlora, double_quantization: false", Method.QLORA, "nf4-plain"),
        ("quantization: nf4, load_in_4bit: true", Method.QLORA, "nf4"),
        ("quantization: none", Method.FULL, ""),
    ],
)
def test_formats_of_frozen_weights_are_read(keys: str, method: Method, name: str) -> None:
    """Our names and those of Hugging Face's BitsAndBytesConfig select the format, and imply QLoRA without a method."""
    found = training(keys)
    assert found.method is method
    assert found.frozen_format == (QUANTISATIONS[name] if name else None)


def test_details_of_quantised_weights_are_read() -> None:
    """A quantised output and fp32 around the quantised weights are part of the format."""
    found = training("method: qlora, quantized_output: true, fp32_rest: true").frozen_format
    assert found == Quantisation("nf4", QUANTISATIONS["nf4"].weight_bytes, output=True, wide_rest=True)


@pytest.mark.parametrize("names", ["all-linear", "[q_proj, v_proj]", "[all]", "[w1, w2, w3]"])
def test_lora_targets_have_the_names_of_other_libraries(names: str) -> None:
    """PEFT's all-linear and the names of matrices in other libraries are accepted."""
    found = training(f"method: lora, lora_targets: {names}").lora
    assert found is not None
    assert found.targets


@pytest.mark.parametrize(
    ("keys", "key", "words"),
    [
        ("method: full, load_in_4bit: true", "training.method", "use method: qlora"),
        ("method: qlora, quantization: none", "training.quantization", "use method: lora"),
        ("load_in_4bit: true, load_in_8bit: true", "training.load_in_8bit", "contradicts load_in_4bit"),
        ("quantization: int8, load_in_4bit: true", "training.load_in_4bit", "contradicts quantization"),
        ("bnb_4bit_quant_type: nf4", "training.bnb_4bit_quant_type", "has no effect without"),
        ("method: lora, virtual_tokens: 10", "training.virtual_tokens", "without method: prefix or prompt"),
        ("method: prefix, lora_rank: 8", "training.lora_rank", "without method: lora or qlora or dora"),
        ("method: ia3, bottleneck_width: 8", "training.bottleneck_width", "without method: bottleneck"),
        ("method: lora, quantization: nf5", "training.quantization", "nf4"),
    ],
)
def test_contradictions_are_refused(keys: str, key: str, words: str) -> None:
    """Keys that contradict each other or have no effect are reported with what to do."""
    assert words in faults(keys)[key]


def test_virtual_tokens_and_widths_are_read() -> None:
    """Prefix tuning has its own number of tokens, bottleneck adapters their own width."""
    assert training("method: prefix, virtual_tokens: 30").virtual_tokens == 30
    assert training("method: bottleneck, bottleneck_width: 16").bottleneck_width == 16


def test_what_the_keys_leave_open_is_listed() -> None:
    """QLoRA without a method, a rank and targets lists three assumptions; with them none."""
    text = "model: llama-3.1-8b\nhardware: A100_80GB_fp16\ntraining: {load_in_4bit: true}\n"
    assumed = " ".join(read_specification(text).assumptions)
    for words in ("no method given", "no lora_rank given: rank 8", "no lora_targets given: q and v"):
        assert words in assumed
    full = text.replace("}", ", method: qlora, lora_rank: 4, lora_targets: [q]}")
    assert "lora" not in " ".join(read_specification(full).assumptions)


def test_additions_are_for_transformers_only() -> None:
    """A perceptron has no low-rank additions, so LoRA is refused instead of ignored."""
    with pytest.raises(SpecificationError, match="transformers only"):
        read_specification(
            "model: {name: mlp, n: 10, d_in: 4, layers: [8], d_out: 2}\nhardware: A100_80GB_fp16\n"
            "training: {method: lora}\n"
        )


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ("method: lora, bf16: true", "bf16"),
        ("method: qlora, fp16: true", "fp16"),
        ("load_in_4bit: true, mixed_precision: bf16", "bf16"),
        ("method: lora, precision: bf16-autocast", "bf16-autocast"),
        ("bf16: true", "bf16-autocast"),
    ],
)
def test_mixed_precision_loads_frozen_weights_in_16_bits(keys: str, name: str) -> None:
    """Trainer's flags name the arithmetic; frozen weights are in fp32 only if the author names fp32."""
    assert training(keys).precision.name == name
