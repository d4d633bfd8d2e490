"""Rows as the planner's own values."""

import re

from msgspec import Struct

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.subjects import Subject, read_sequence, read_subject
from flyball_planner.accuracy.rows.vocabulary import count, flag, words
from flyball_planner.accuracy.rows.words import (
    OLD_ATTENTION,
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
from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.precision import NumberFormat
from flyball_planner.quantisation import NF4, Quantisation, quantisation
from flyball_planner.training import Method, Training
from flyball_reports.errors import UnknownName

DEVICES_A_NODE = 8  # of NVIDIA's and AMD's systems with such devices (DGX and HGX data sheets)
LOW_RANK = frozenset({Method.LORA, Method.QLORA, Method.DORA})
CLOUD_DEVICES = {"p3.16xlarge": "V100 SXM2 16GB", "p3.8xlarge": "V100 SXM2 16GB"}  # Amazon's instance types

SCRIPT_BATCH = re.compile(r"batch not in the table \(script default (\d+)\)")
COMPILED_LOSS_SINCE = 202504  # year and month
CLOUD_NOISE = (r"^[A-Za-z]+_\d+x", r"_(trt|p)\d*$")  # cloud and number of devices; index of the machine


class RowSetting(Struct, frozen=True):
    """The training and layout of a row."""

    subject: Subject
    training: Training
    layout: ParallelLayout


def read_setting(configuration: RowConfiguration) -> RowSetting:
    """Return everything of a row but its device."""
    return RowSetting(read_subject(configuration), read_training(configuration), read_layout(configuration))


def read_training(configuration: RowConfiguration) -> Training:
    """Return the training of a row."""
    layout = read_layout(configuration)
    method = read_method(configuration)
    precision = read_precision(configuration)
    framework = read_framework(configuration)
    return Training(
        sequence=read_sequence(configuration),
        global_batch=_global_batch(configuration, layout),
        optimizer=read_optimizer(configuration),
        precision=precision,
        method=method,
        lora=read_lora(configuration) if method in LOW_RANK else None,
        attention=read_attention(configuration),
        compiled="compile" in words(configuration, "framework") or step(configuration, "compile"),
        framework=framework,
        fp32_gradients=_wide_gradients(configuration, framework) and precision.weights is NumberFormat.BF16,
        fused_loss=_fused_loss(configuration),
        compiled_loss=_compiles_loss(configuration),
        quantisation=_quantisation(configuration) if method is Method.QLORA else None,
        separate_ends=framework_is(configuration, "torchtune"),  # custom_sharded_layers of its larger recipes
        gradients_unsharded=framework_is(configuration, "litgpt"),  # it accumulates micro-batches under FSDP's no_sync
        gradients_persist=any(each in words(configuration, "framework") for each in OLD_ATTENTION),  # of torch 1
    )


def _quantisation(configuration: RowConfiguration) -> Quantisation | None:
    """Return LitGPT's `bnb.nf4`, which quantises every product, with bitsandbytes 0.42 and a loop that holds the last
    loss (litgpt/finetune/lora.py). torchao in torchtune has double scales and keeps no inputs. Others are unknown."""
    if framework_is(configuration, "litgpt"):
        return quantisation("nf4-plain", output=True, kept_inputs=2)
    return NF4 if framework_is(configuration, "torchtune") else None


def read_layout(configuration: RowConfiguration) -> ParallelLayout:
    """Return the layout of a row."""
    # Degrees that a table leaves out are not used by its runs; the number of devices follows from the copies.
    tensor, pipeline, context = (count(configuration, name, 1) for name in ("tp", "pp", "cp"))
    if not configuration["n_gpus"] and not configuration["dp"]:
        raise Unsuited("the row has no number of devices")
    data = count(configuration, "dp", 1)
    devices = count(configuration, "n_gpus", tensor * pipeline * context * data)
    if devices < tensor * pipeline * context:
        raise Unsuited(f"{devices} devices cannot hold {tensor}×{pipeline}×{context} of a model")
    if configuration["dp"] and devices != tensor * pipeline * context * data:
        raise Unsuited(f"{devices} devices are not {tensor}×{pipeline}×{context} of a model × {data} copies")
    return ParallelLayout(
        devices=devices,
        devices_a_node=count(configuration, "gpus_per_node", DEVICES_A_NODE),
        tensor=tensor,
        pipeline=pipeline,
        interleave=count(configuration, "vpp", 1),
        context=context,
        expert=count(configuration, "ep", 1),
        micro_batch=_micro_batch(configuration, devices // (tensor * pipeline * context), pipeline),
        sharding=read_sharding(configuration),
        shard_group=read_shard_group(configuration),
        sequence_parallel=_sequence_parallel(configuration, tensor),
        checkpointing=read_checkpointing(configuration),
        offload=read_offload(configuration),
    )


def read_device(configuration: RowConfiguration) -> ComputeDevice:
    """Return the device of a row."""
    name = configuration["gpu"]
    plain = CLOUD_DEVICES.get(name, name)
    for noise in CLOUD_NOISE:
        plain = re.sub(noise, "", plain)
    try:
        return find_device(plain)
    except UnknownName as unknown:
        raise Unsuited(f"{name} is not a known device") from unknown


def _micro_batch(configuration: RowConfiguration, data: int, pipeline: int) -> int:
    """Return the samples of a forward pass, as stated, or as the batch of a step over replicas and accumulation."""
    if configuration["micro_batch"]:
        micro = count(configuration, "micro_batch")
        return max(1, round(micro / pipeline)) if _local_batch(configuration) else micro
    if usual := SCRIPT_BATCH.search(configuration["notes"]):
        return int(usual[1])
    if not configuration["global_batch"]:
        raise Unsuited("the row has no batch")
    if not configuration["grad_accum"]:
        raise Unsuited("the row has neither a micro-batch nor the steps of accumulation")
    batch, steps = count(configuration, "global_batch"), count(configuration, "grad_accum")
    if batch % (data * steps):
        raise Unsuited(f"a batch of {batch} is not a multiple of {data} replicas × {steps} micro-batches")
    return batch // (data * steps)


def _global_batch(configuration: RowConfiguration, layout: ParallelLayout) -> int:
    """Return the samples of a step. Without accumulation in the row there is none: all frameworks have it off."""
    if configuration["global_batch"]:
        return count(configuration, "global_batch")
    if framework_is(configuration, "litgpt"):  # global_batch_size of its recipes
        return 64 if read_method(configuration) is Method.FULL else 8
    steps = count(configuration, "grad_accum", 1)
    parts = layout.pipeline if _local_batch(configuration) else 1
    return layout.micro_batch * parts * steps * layout.data


def _wide_gradients(configuration: RowConfiguration, framework: str) -> bool:
    """Return True for Megatron and DeepSpeed, except for Megatron Bridge's speed recipes
    (grad_reduce_in_fp32=False)."""
    return framework in {"megatron", "deepspeed"} and not framework_is(configuration, "megatron-bridge")


def _fused_loss(configuration: RowConfiguration) -> bool:
    """Return True for torchtune's recipes, except for the first steps of its ladder."""
    ladder = "cumulative ladder" in words(configuration, "notes")
    usual = framework_is(configuration, "torchtune") and not ladder
    return usual or step(configuration, "chunked")


def _compiles_loss(configuration: RowConfiguration) -> bool:
    """Return True for torchtitan since pull request 1033 of 1 April 2025; 755 of December 2024 had disabled it. Its
    benchmarks state their month."""
    dated = re.search(r"_(20\d{4})_", configuration["source"])
    compiled = framework_is(configuration, "torchtitan") and "compile" in words(configuration, "framework")
    return bool(compiled and dated and int(dated[1]) >= COMPILED_LOSS_SINCE)


def _local_batch(configuration: RowConfiguration) -> bool:
    """Return True if the micro-batch is a rank's complete batch, which a pipeline divides by its stages."""
    return framework_is(configuration, "torchtitan")


def framework_is(configuration: RowConfiguration, name: str) -> bool:
    """Return True if the name of the row's framework begins with this name."""
    return words(configuration, "framework").startswith(name)


def _sequence_parallel(configuration: RowConfiguration, tensor: int) -> bool:
    stated = flag(configuration, "sequence_parallel")
    if stated is not None:
        return stated
    modern = ("megatron-bridge", "megatron-core", "torchtitan")  # always used with tensor parallelism
    return tensor > 1 and any(each in words(configuration, "framework") for each in modern)
