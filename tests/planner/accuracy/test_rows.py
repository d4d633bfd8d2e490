"""How the words of a table become a subject, a training, a layout and a device."""

import pytest

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.perceptrons import perceptron
from flyball_planner.accuracy.rows.settings import read_device, read_layout, read_setting, read_training
from flyball_planner.accuracy.rows.subjects import read_subject
from flyball_planner.accuracy.rows.words import (
    read_attention,
    read_checkpointing,
    read_lora,
    read_method,
    read_offload,
    read_optimizer,
    read_precision,
    read_sharding,
    step,
)
from flyball_planner.accuracy.tables import Configuration
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import Format
from flyball_planner.training import Attention, Checkpointing, Method, Offload, Sharding

GPT = {
    "model": "GPT 200B", "params": "200000000000.0", "hidden": "14400", "ffn": "57600", "vocab": "250000",
    "seq_len_or_input": "2048", "gpu": "A100-SXM-80GB (Jean Zay)", "n_gpus": "320", "tp": "8", "pp": "10", "dp": "4",
    "zero_or_fsdp": "ZeRO-1", "micro_batch": "4", "global_batch": "2048", "precision": "bf16/fp16 mixed",
    "act_ckpt": "full (Megatron activation checkpointing)", "framework": "Megatron-DeepSpeed", "optimizer": "Adam",
}  # fmt: skip
LITGPT = {
    "model": "tiny-llama", "params": "1100048384", "n_layers": "22", "hidden": "2048", "heads": "32", "kv_heads": "4",
    "ffn": "5632", "vocab": "32000", "seq_len_or_input": "max 512 (Alpaca2k, padded per batch)", "gpu": "A10G-24GB",
    "n_gpus": "4", "zero_or_fsdp": "FSDP (act. ckpt Block) for full", "micro_batch": "8", "method": "lora",
    "precision": "bf16-true", "optimizer": "AdamW", "framework": "LitGPT tiny-llama/lora.yaml",
}  # fmt: skip
TITAN = {
    "model": "Llama 405B", "params": "405853388800", "n_layers": "126", "hidden": "16384", "heads": "128",
    "kv_heads": "8", "ffn": "53248", "vocab": "128256", "seq_len_or_input": "8192", "n_gpus": "512", "tp": "8",
    "pp": "8", "dp": "8", "cp": "1", "zero_or_fsdp": "FSDP2", "micro_batch": "32", "global_batch": "256",
    "precision": "float8", "optimizer": "AdamW", "act_ckpt": "full", "framework": "torchtitan; compile+float8 1F1B",
}  # fmt: skip


def told(**columns: str) -> Configuration:
    """A row with these columns."""
    return Configuration(columns)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ZeRO-1", Sharding.ZERO1), ("ZeRO-3; offload none", Sharding.ZERO3), ("ZeRO-0", Sharding.NONE),
        ("FSDP FULL_SHARD", Sharding.ZERO3), ("FSDP2", Sharding.ZERO3), ("FSDP=0", Sharding.NONE),
        ("FSDP SHARD_GRAD_OP", Sharding.ZERO2), ("DDP", Sharding.NONE), ("none", Sharding.NONE), ("", Sharding.NONE),
    ],
)  # fmt: skip
def test_sharding_is_read(text: str, expected: Sharding) -> None:
    """Both families of words mean the same stages."""
    assert read_sharding(told(zero_or_fsdp=text)) is expected


@pytest.mark.parametrize(
    ("text", "weights", "compute", "master"),
    [
        ("fp32", Format.FP32, Format.FP32, False), ("tf32", Format.FP32, Format.TF32, False),
        ("bf16", Format.BF16, Format.BF16, True), ("bf16-true", Format.BF16, Format.BF16, False),
        ("AMP", Format.FP32, Format.FP16, False), ("amp_bf16 (mp_mode DEFAULT)", Format.FP32, Format.BF16, False),
        ("float8", Format.BF16, Format.FP8, True), ("NVFP4", Format.BF16, Format.FP4, True),
        ("not stated in the csv (16-bit mixed, Megatron)", Format.FP16, Format.FP16, True),
    ],
)  # fmt: skip
def test_precision_is_read(text: str, weights: Format, compute: Format, master: bool) -> None:
    """What is multiplied in, what weights are kept in, and whether fp32 copies exist."""
    found = read_precision(told(precision=text))
    assert (found.weights, found.compute, found.master) == (weights, compute, master)


def test_fully_sharded_mixed_precision_keeps_fp32_shards() -> None:
    """Under FSDP 16-bit weights are gathered copies of fp32 shards."""
    assert read_precision(told(precision="bf16", zero_or_fsdp="FSDP2")).weights is Format.FP32
    assert read_precision(told(precision="float8", zero_or_fsdp="FSDP2")).compute is Format.FP8


def test_optimizers_are_read() -> None:
    """Width, pages, fusion and the place of the step are found in any order of words."""
    found = read_optimizer(told(optimizer="PagedAdamW8bit, optimizer_in_bwd"))
    assert found.paged
    assert found.in_backward
    assert read_optimizer(told(optimizer="SGD momentum")).name == "sgd-momentum"
    assert read_optimizer(told(optimizer="Adam", framework="torchtune")).name == "adamw-fused"
    with pytest.raises(Unsuited, match="optimizer"):
        read_optimizer(told(optimizer="see notes"))


def test_sharding_for_one_method_is_not_for_another() -> None:
    """What is said of full training alone neither shards nor checkpoints a LoRA run."""
    words = "FSDP (act. ckpt Block) for full"
    full, lora = (told(zero_or_fsdp=words, method=method) for method in ("full", "lora"))
    assert (read_sharding(full), read_checkpointing(full)) == (Sharding.ZERO3, Checkpointing.FULL)
    assert (read_sharding(lora), read_checkpointing(lora)) == (Sharding.NONE, Checkpointing.NONE)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"act_ckpt": "full + offload"}, Offload.ACTIVATIONS),
        ({"zero_or_fsdp": "ZeRO-2; offload optimizer=cpu"}, Offload.OPTIMIZER),
        ({"zero_or_fsdp": "ZeRO-3 case3 optimizer offload"}, Offload.OPTIMIZER),
        ({"zero_or_fsdp": "ZeRO-3; offload param=cpu,optimizer=cpu"}, Offload.PARAMETERS),
        ({"zero_or_fsdp": "ZeRO-3; offload none,zero_init=1"}, Offload.NONE),
        ({"zero_or_fsdp": "ZeRO-3 no offload"}, Offload.NONE),
        ({"zero_or_fsdp": "FSDP", "optimizer": "fused AdamW, CPU offload"}, Offload.PARAMETERS),
    ],
)
def test_offload_is_read_where_it_is_said(columns: dict[str, str], expected: Offload) -> None:
    """Activations beside the checkpointing, states beside sharding or optimizer."""
    assert read_offload(Configuration(columns)) is expected


def test_low_rank_additions_follow_recipe_and_notes() -> None:
    """A published recipe tells its targets, a note the rank."""
    assert read_method(told(method="QLoRA")) is Method.QLORA
    assert "down" in read_lora(Configuration(LITGPT)).targets
    assert read_lora(told(notes="lora_rank 16")).rank == 16


def test_age_tells_attention() -> None:
    """Old frameworks kept scores unless the row says flash."""
    assert read_attention(told(framework="Megatron-DeepSpeed")) is Attention.MATERIALISED
    assert read_attention(told(framework="Megatron-DeepSpeed", attention="flash")) is Attention.FLASH


def test_a_ladder_is_cumulative() -> None:
    """A later step has all earlier ones; elsewhere nothing is implied."""
    later = told(framework="torchtune +activation checkpointing", notes="cumulative ladder")
    assert step(later, "compile")
    assert not step(later, "offload")
    assert not step(told(framework="torchtune +compile"), "compile")


def test_missing_layers_follow_from_the_count() -> None:
    """Layers fill the parameters in equal stages."""
    shape = read_subject(Configuration(GPT))
    assert isinstance(shape, TransformerShape)
    assert shape.layers == 80
    assert parameters(shape).total == pytest.approx(200e9, rel=0.02)


def test_the_nearest_variant_is_chosen() -> None:
    """Gated and ungated, tied and untied: the count decides."""
    shape = read_subject(Configuration({**LITGPT, "framework": ""}))
    assert isinstance(shape, TransformerShape)
    assert shape.gated
    assert parameters(shape).total == 1_100_048_384


def test_litgpt_unties_its_models() -> None:
    """Its models keep an output matrix of their own."""
    shape = read_subject(Configuration({**LITGPT, "model": "gemma-2b", "framework": "LitGPT gemma-2b/full.yaml"}))
    assert isinstance(shape, TransformerShape)
    assert not shape.tied


def test_known_names_need_no_dimensions() -> None:
    """A well-known model is found by its name, an unknown one is told as such."""
    columns = {"model": "phi-2", "seq_len_or_input": "512"}
    assert isinstance(read_subject(Configuration(columns)), TransformerShape)
    with pytest.raises(Unsuited, match="no known model"):
        read_subject(told(model="secret-9000", seq_len_or_input="512"))


def test_images_are_networks() -> None:
    """A sample of pixels means a published network."""
    found = read_subject(told(model="resnet50", seq_len_or_input="3x224x224"))
    assert isinstance(found, ModelCost)
    assert found.parameters == 25_557_032


def test_a_local_batch_goes_down_the_pipeline_in_parts() -> None:
    """torchtitan divides a rank's batch into as many micro-batches as there are stages."""
    row = Configuration(TITAN)
    assert read_layout(row).micro_batch == 4
    assert read_layout(row).sequence_parallel
    assert read_training(row).global_batch == 256


@pytest.mark.parametrize(
    ("framework", "source", "expected"),
    [
        ("torchtitan; compile+float8", "benchmarks/llama3_h100_202412_torchtitan.md", False),
        ("torchtitan; compile+float8", "benchmarks/llama3-8b_h200_202506_trainy-whitefiber.md", True),
        ("torchtitan; eager", "benchmarks/llama3-8b_h200_202506_trainy-whitefiber.md", False),
        ("torchtune, torch.compile on", "README_202506_of_another.md", False),
    ],
)
def test_the_month_of_a_benchmark_tells_whether_its_loss_is_compiled(
    framework: str, source: str, expected: bool
) -> None:
    """torchtitan compiles it with the model from April 2025 on."""
    row = Configuration({**TITAN, "framework": framework, "source": source})
    assert read_training(row).compiled_loss is expected


def test_a_whole_row_is_read() -> None:
    """Layout, training and device of one row together."""
    row = Configuration(GPT)
    found = read_setting(row)
    assert (found.layout.tensor, found.layout.pipeline, found.layout.data) == (8, 10, 4)
    assert found.layout.checkpointing is Checkpointing.FULL
    assert found.training.framework == "deepspeed"
    assert found.training.global_batch == 2048
    assert read_device(row).memory_bytes == 80 * 2**30


def test_clouds_names_are_no_part_of_a_device() -> None:
    """Cloud, count and machine are dropped; an unknown device is told."""
    assert read_device(told(gpu="LambdaCloud_4xA6000")).name == read_device(told(gpu="A6000 48GB")).name
    assert "2080 Ti" in read_device(told(gpu="2080Ti_trt2")).name
    with pytest.raises(Unsuited, match="no known device"):
        read_device(told(gpu="Abacus 3"))


def test_perceptrons_are_read_layer_by_layer() -> None:
    """Weights, biases and norms add up to the row's own count."""
    row = told(
        input="2346", layer_out_features="1173 586 197", activation="ReLU", dropout_layers="2", batchnorm_layers="2",
        total_params="3560152",
    )  # fmt: skip
    assert perceptron(row).parameters == 3_560_152
    with pytest.raises(Unsuited, match="layers"):
        perceptron(told(input="10"))
