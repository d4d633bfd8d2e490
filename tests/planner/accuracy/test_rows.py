"""Tests of reading a subject, a training, a layout and a device from the words of a table."""

from collections.abc import Callable

import pytest

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.perceptrons import perceptron, perceptron_training
from flyball_planner.accuracy.rows.settings import read_device, read_layout, read_setting, read_training
from flyball_planner.accuracy.rows.subjects import read_sequence, read_subject
from flyball_planner.accuracy.rows.vocabulary import count
from flyball_planner.accuracy.rows.words import (
    read_attention,
    read_checkpointing,
    read_framework,
    read_lora,
    read_method,
    read_offload,
    read_optimizer,
    read_precision,
    read_shard_group,
    read_sharding,
    step,
)
from flyball_planner.accuracy.tables import RowConfiguration
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import NumberFormat
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


def row_of(**columns: str) -> RowConfiguration:
    """Return a row with these columns."""
    return RowConfiguration(columns)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ZeRO-1", Sharding.ZERO1), ("ZeRO-3; offload none", Sharding.ZERO3), ("ZeRO-0", Sharding.NONE),
        ("FSDP FULL_SHARD", Sharding.ZERO3), ("FSDP2", Sharding.ZERO3), ("FSDP=0", Sharding.NONE),
        ("DeepSpeed ZeRO stage 2", Sharding.ZERO2),
        ("FSDP SHARD_GRAD_OP", Sharding.ZERO2), ("DDP", Sharding.NONE), ("none", Sharding.NONE), ("", Sharding.NONE),
    ],
)  # fmt: skip
def test_sharding_is_read(text: str, expected: Sharding) -> None:
    """The terms of ZeRO and of FSDP map to the same stages."""
    assert read_sharding(row_of(zero_or_fsdp=text)) is expected


@pytest.mark.parametrize(
    ("text", "weights", "compute", "master"),
    [
        ("fp32", NumberFormat.FP32, NumberFormat.FP32, False),
        ("tf32", NumberFormat.FP32, NumberFormat.TF32, False),
        ("bf16", NumberFormat.BF16, NumberFormat.BF16, True),
        ("bf16-true", NumberFormat.BF16, NumberFormat.BF16, False),
        ("AMP", NumberFormat.FP32, NumberFormat.FP16, False),
        ("amp_bf16 (mp_mode DEFAULT)", NumberFormat.FP32, NumberFormat.BF16, False),
        ("float8", NumberFormat.BF16, NumberFormat.FP8, True),
        ("NVFP4", NumberFormat.BF16, NumberFormat.FP4, True),
        ("not stated in the csv (16-bit mixed, Megatron)", NumberFormat.FP16, NumberFormat.FP16, True),
    ],
)  # fmt: skip
def test_precision_is_read(text: str, weights: NumberFormat, compute: NumberFormat, master: bool) -> None:
    """A precision gives the formats of weights and arithmetic, and whether fp32 master copies exist."""
    found = read_precision(row_of(precision=text))
    assert (found.weights, found.compute, found.master) == (weights, compute, master)


def test_fully_sharded_mixed_precision_keeps_fp32_shards() -> None:
    """Under FSDP, 16-bit weights are gathered from fp32 shards."""
    assert read_precision(row_of(precision="bf16", zero_or_fsdp="FSDP2")).weights is NumberFormat.FP32
    assert read_precision(row_of(precision="float8", zero_or_fsdp="FSDP2")).compute is NumberFormat.FP8


def test_optimizers_are_read() -> None:
    """Width, paging, fusion and the place of the step are read from words in any order."""
    found = read_optimizer(row_of(optimizer="PagedAdamW8bit, optimizer_in_bwd"))
    assert found.paged
    assert found.in_backward
    assert read_optimizer(row_of(optimizer="SGD momentum")).name == "sgd-momentum"
    assert read_optimizer(row_of(optimizer="Adam", framework="torchtune")).name == "adamw-fused"
    with pytest.raises(Unsuited, match="optimizer"):
        read_optimizer(row_of(optimizer="see notes"))


def test_sharding_applies_only_to_the_named_method() -> None:
    """Sharding and checkpointing given "for full" do not apply to a LoRA run."""
    words = "FSDP (act. ckpt Block) for full"
    full, lora = (row_of(zero_or_fsdp=words, method=method) for method in ("full", "lora"))
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
def test_offload_is_read_from_several_columns(columns: dict[str, str], expected: Offload) -> None:
    """Offload of activations is in the checkpointing column, of states in the sharding or optimizer column."""
    assert read_offload(RowConfiguration(columns)) is expected


def test_lora_is_read_from_recipe_and_notes() -> None:
    """A published recipe gives the target matrices, a note the rank."""
    assert read_method(row_of(method="QLoRA")) is Method.QLORA
    assert "down" in read_lora(RowConfiguration(LITGPT)).targets
    assert read_lora(row_of(notes="lora_rank 16", framework="torchtune")).rank == 16
    own = read_lora(row_of(notes="r=4, targets q_proj, v_proj"))
    assert (own.rank, own.targets) == (4, ("q", "v"))
    assert "down" in read_lora(row_of(notes="rank 4, all-linear")).targets
    stated = row_of(method="QLoRA (nf4), r=64 on all linear layers")
    assert (read_method(stated), read_lora(stated).rank) == (Method.QLORA, 64)


def test_attention_follows_from_the_framework() -> None:
    """Old frameworks kept the attention scores, unless the row names flash attention."""
    assert read_attention(row_of(framework="Megatron-DeepSpeed")) is Attention.MATERIALISED
    assert read_attention(row_of(framework="Megatron-DeepSpeed", attention="flash")) is Attention.FLASH


def test_a_ladder_is_cumulative() -> None:
    """In a cumulative ladder a later step includes all earlier ones; in other rows it does not."""
    later = row_of(framework="torchtune +activation checkpointing", notes="cumulative ladder")
    assert step(later, "compile")
    assert not step(later, "offload")
    assert not step(row_of(framework="torchtune +compile"), "compile")


def test_missing_layers_follow_from_the_count() -> None:
    """A missing number of layers is derived from the parameters and divides evenly into the stages."""
    shape = read_subject(RowConfiguration(GPT))
    assert isinstance(shape, TransformerShape)
    assert shape.layers == 80
    assert parameters(shape).total == pytest.approx(200e9, rel=0.02)


def test_the_nearest_variant_is_chosen() -> None:
    """The parameter count decides between gated and ungated, tied and untied variants."""
    shape = read_subject(RowConfiguration({**LITGPT, "framework": ""}))
    assert isinstance(shape, TransformerShape)
    assert shape.gated
    assert parameters(shape).total == 1_100_048_384


def test_litgpt_models_are_untied() -> None:
    """Models in LitGPT have a separate output matrix."""
    shape = read_subject(RowConfiguration({**LITGPT, "model": "gemma-2b", "framework": "LitGPT gemma-2b/full.yaml"}))
    assert isinstance(shape, TransformerShape)
    assert not shape.tied


def test_known_names_need_no_dimensions() -> None:
    """A well-known model is found by its name; an unknown one is an error."""
    columns = {"model": "phi-2", "seq_len_or_input": "512"}
    assert isinstance(read_subject(RowConfiguration(columns)), TransformerShape)
    with pytest.raises(Unsuited, match="not a known model"):
        read_subject(row_of(model="secret-9000", seq_len_or_input="512"))


def test_image_samples_mean_a_published_network() -> None:
    """A row with an image as its sample is read as a published network."""
    found = read_subject(row_of(model="resnet50", seq_len_or_input="3x224x224"))
    assert isinstance(found, ModelCost)
    assert found.parameters == 25_557_032


def test_torchtitan_divides_its_local_batch() -> None:
    """torchtitan divides a rank's batch into one micro-batch per pipeline stage."""
    row = RowConfiguration(TITAN)
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
def test_the_loss_is_compiled_from_april_2025_on(framework: str, source: str, expected: bool) -> None:
    """torchtitan compiles the loss with the model in benchmarks from April 2025 on."""
    row = RowConfiguration({**TITAN, "framework": framework, "source": source})
    assert read_training(row).compiled_loss is expected


def test_a_whole_row_is_read() -> None:
    """Layout, training and device are read from one row."""
    row = RowConfiguration(GPT)
    found = read_setting(row)
    assert (found.layout.tensor, found.layout.pipeline, found.layout.data) == (8, 10, 4)
    assert found.layout.checkpointing is Checkpointing.FULL
    assert found.training.framework == "deepspeed"
    assert found.training.global_batch == 2048
    assert read_device(row).memory_bytes == 80 * 2**30


def test_cloud_names_are_removed_from_a_device() -> None:
    """Cloud, count and machine are removed from a device's name; an unknown device is an error."""
    assert read_device(row_of(gpu="LambdaCloud_4xA6000")).name == read_device(row_of(gpu="A6000 48GB")).name
    assert "2080 Ti" in read_device(row_of(gpu="2080Ti_trt2")).name
    with pytest.raises(Unsuited, match="not a known device"):
        read_device(row_of(gpu="Abacus 3"))


def test_perceptrons_are_read_layer_by_layer() -> None:
    """Weights, biases and norms add up to the count in the row."""
    row = row_of(
        input="2346", layer_out_features="1173 586 197", activation="ReLU", dropout_layers="2", batchnorm_layers="2",
        total_params="3560152",
    )  # fmt: skip
    assert perceptron(row).parameters == 3_560_152
    with pytest.raises(Unsuited, match="layers"):
        perceptron(row_of(input="10"))


@pytest.mark.parametrize(
    ("read", "columns", "reason"),
    [
        (read_method, {"method": "AdaLoRA"}, "method is 'adalora': 'adalora' is not understood"),
        (read_method, {"method": "prompt tuning, soft"}, "'prompt' is not understood"),
        (read_method, {"method": "LoRA-FA r=8"}, "'fa' is not understood"),
        (read_method, {"method": "DPO"}, "'dpo' is not understood"),
        (read_lora, {"method": "LoRA"}, "neither LoRA's matrices nor a known recipe"),
        (read_lora, {"notes": "targets q, v"}, "no rank of LoRA"),
        (read_lora, {"framework": "LitGPT secret-9b/lora.yaml"}, "nor a known recipe"),
        (read_precision, {"precision": "auto"}, "precision is 'auto': no known format"),
        (read_precision, {"precision": "mixed"}, "no known format"),
        (read_precision, {"precision": "fp64"}, "no known format"),
        (read_precision, {"precision": "int4", "method": "full"}, "'int4' is only understood as the 4-bit weights"),
        (read_precision, {"precision": "int8", "method": "QLoRA"}, "'int8' is only understood as the 4-bit weights"),
        (read_precision, {}, "the row has no precision"),
        (read_checkpointing, {"act_ckpt": "every 2 layers"}, "understood are none, selective and full"),
        (read_checkpointing, {"act_ckpt": "auto"}, "understood are none"),
        (read_sharding, {"zero_or_fsdp": "ZeRO-Infinity"}, "understood are DDP, ZeRO-0 to ZeRO-3 and FSDP"),
        (read_sharding, {"zero_or_fsdp": "ZeRO-5"}, "understood are DDP"),
        (read_sharding, {"zero_or_fsdp": "ZeRO++ 3"}, "understood are DDP"),
        (read_sharding, {"zero_or_fsdp": "Gemini"}, "understood are DDP"),
        (read_shard_group, {"zero_or_fsdp": "FSDP HYBRID_SHARD"}, "the number of ranks"),
        (read_offload, {"zero_or_fsdp": "ZeRO-3 offload nvme"}, "whole"),
        (read_offload, {"zero_or_fsdp": "ZeRO-2 offload ratio 0.4"}, "whole"),
        (read_optimizer, {"optimizer": "GaLore AdamW"}, "'galore' is not understood"),
        (read_optimizer, {"optimizer": "Sophia"}, "'sophia' is not understood"),
        (read_optimizer, {"optimizer": "AdamW 4-bit"}, "'4' is not understood"),
        (read_optimizer, {"optimizer": "Lion 8bit"}, "no known optimizer"),
        (read_optimizer, {"mem_meaning": "peak"}, "the row has no optimizer"),
        (read_attention, {"attention": "linear"}, "understood are flash attention and stored scores"),
        (read_framework, {"framework": "Unsloth"}, "how it keeps weights and buffers is not known"),
        (read_framework, {"framework": "MaxText (JAX)"}, "is not known"),
        (read_sequence, {"seq_len_or_input": "4096 unpacked"}, "the length of the samples is not stated"),
        (read_sequence, {"seq_len_or_input": "512-2048"}, "the length of the samples is not stated"),
        (read_layout, {"n_gpus": "8", "tp": "auto", "micro_batch": "1"}, "tp is 'auto': expected a number"),
        (read_layout, {"n_gpus": "8-16", "micro_batch": "1"}, "n_gpus is '8-16'"),
        (read_layout, {"micro_batch": "1"}, "the row has no number of devices"),
        (read_layout, {"n_gpus": "8", "tp": "2", "dp": "2", "micro_batch": "1"},
         "8 devices are not 2×1×1 of a model × 2"),
        (read_layout, {"n_gpus": "8", "micro_batch": "auto"}, "micro_batch is 'auto'"),
        (read_layout, {"n_gpus": "8"}, "the row has no batch"),
        (read_layout, {"n_gpus": "8", "global_batch": "64"}, "neither a micro-batch nor the steps of accumulation"),
        (read_layout, {"n_gpus": "8", "global_batch": "60", "grad_accum": "2"}, "is not a multiple of 8 replicas"),
        (read_layout, {"n_gpus": "8", "micro_batch": "1", "sequence_parallel": "ulysses"}, "expected true or false"),
        (read_subject, {"model": "GPT", "hidden": "512", "n_layers": "2", "vocab": "99", "seq_len_or_input": "64"},
         "the row has no heads"),
        (perceptron_training, {"batch": "8", "precision": "fp32"}, "the row has no optimizer"),
        (perceptron_training, {"batch": "auto", "precision": "fp32", "optimizer": "Adam"}, "batch is 'auto'"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(
    read: Callable[[RowConfiguration], object], columns: dict[str, str], reason: str
) -> None:
    """A word, a range or a gap that a reader does not understand refuses the row with the reason, without a guess."""
    with pytest.raises(Unsuited) as caught:
        read(RowConfiguration(columns))
    assert reason in str(caught.value)


def test_an_accumulated_batch_gives_the_micro_batch() -> None:
    """Without a micro-batch, it is the batch of a step over replicas and accumulation."""
    row = row_of(n_gpus="8", tp="2", global_batch="64", grad_accum="4")
    assert read_layout(row).micro_batch == 4


def test_few_bits_are_those_of_frozen_weights() -> None:
    """In QLoRA, NF4 is the format of frozen weights, and products are in 16 bits."""
    found = read_precision(row_of(precision="bnb.nf4, bf16-true", method="qlora"))
    assert found.compute is NumberFormat.BF16
    assert read_precision(row_of(precision="nf4", method="QLoRA")).compute is NumberFormat.BF16


def test_numbers_may_have_a_remark() -> None:
    """A number at the beginning of a cell counts; an empty cell is the given default."""
    assert count(row_of(tp="8 (of 16)"), "tp", 1) == 8
    assert count(row_of(), "tp", 1) == 1
