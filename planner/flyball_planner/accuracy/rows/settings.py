"""A row as the planner's own values."""

import re

from msgspec import Struct

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.subjects import Subject, read_sequence, read_subject
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
    words,
)
from flyball_planner.accuracy.tables import Configuration
from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import Device
from flyball_planner.layouts.columns import Layout
from flyball_planner.precision import Format
from flyball_planner.training import Method, Training
from flyball_reports.errors import UnknownName

DEVICES_A_NODE = 8
CLOUD_DEVICES = {"p3.16xlarge": "V100 SXM2 16GB", "p3.8xlarge": "V100 SXM2 16GB"}  # Amazon's own names of machines

COMPILED_LOSS_SINCE = 202504  # year and month
CLOUD_NOISE = (r"^[A-Za-z]+_\d+x", r"_(trt|p)\d*$")  # a cloud and its count of devices; which of several equal machines


class Setting(Struct, frozen=True):
    """Everything that a row says of its run."""

    subject: Subject
    training: Training
    layout: Layout


def read_setting(configuration: Configuration) -> Setting:
    """All of a row but its device."""
    return Setting(read_subject(configuration), read_training(configuration), read_layout(configuration))


def read_training(configuration: Configuration) -> Training:
    """How a row trains."""
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
        lora=None if method is Method.FULL else read_lora(configuration),
        attention=read_attention(configuration),
        compiled="compile" in words(configuration, "framework") or step(configuration, "compile"),
        framework=framework,
        fp32_gradients=_wide_gradients(configuration, framework) and precision.weights is Format.BF16,
        fused_loss=_fused_loss(configuration),
        compiled_loss=_compiles_loss(configuration),
        quantised_outputs_kept=not framework_is(configuration, "torchtune"),  # its 4-bit products are torchao's
        ends_apart=framework_is(configuration, "torchtune"),  # its larger recipes' custom_sharded_layers
        gradients_whole=framework_is(configuration, "litgpt"),  # it adds up micro-batches under FSDP's no_sync
    )


def read_layout(configuration: Configuration) -> Layout:
    """How a row is spread."""
    tensor, pipeline, context = (configuration.count(name, 1) for name in ("tp", "pp", "cp"))
    data = configuration.count("dp", 1)
    devices = configuration.count("n_gpus", tensor * pipeline * context * data)
    if devices < tensor * pipeline * context:
        raise Unsuited(f"{devices} devices cannot hold {tensor}×{pipeline}×{context} of a model")
    return Layout(
        devices=devices,
        devices_a_node=configuration.count("gpus_per_node", DEVICES_A_NODE),
        tensor=tensor,
        pipeline=pipeline,
        interleave=configuration.count("vpp", 1),
        context=context,
        expert=configuration.count("ep", 1),
        micro_batch=_micro_batch(configuration, devices // (tensor * pipeline * context), pipeline),
        sharding=read_sharding(configuration),
        shard_group=read_shard_group(configuration),
        sequence_parallel=_sequence_parallel(configuration, tensor),
        checkpointing=read_checkpointing(configuration),
        offload=read_offload(configuration),
    )


def read_device(configuration: Configuration) -> Device:
    """The device of a row."""
    name = configuration["gpu"]
    plain = CLOUD_DEVICES.get(name, name)
    for noise in CLOUD_NOISE:
        plain = re.sub(noise, "", plain)
    try:
        return find_device(plain)
    except UnknownName as unknown:
        raise Unsuited(f"{name} is no known device") from unknown


def _micro_batch(configuration: Configuration, data: int, pipeline: int) -> int:
    whole = configuration.number("global_batch")
    told = configuration.number("micro_batch")
    if told is None:
        return max(1, round((whole or data) / data / configuration.count("grad_accum", 1) / pipeline))
    return max(1, round(told / pipeline)) if _local_batch(configuration) else max(1, round(told))


def _global_batch(configuration: Configuration, layout: Layout) -> int:
    if configuration["global_batch"]:
        return configuration.count("global_batch", 1)
    if framework_is(configuration, "litgpt"):  # its recipes' global_batch_size
        return 64 if read_method(configuration) is Method.FULL else 8
    steps = configuration.count("grad_accum", 1)
    parts = layout.pipeline if _local_batch(configuration) else 1
    return layout.micro_batch * parts * steps * layout.data


def _wide_gradients(configuration: Configuration, framework: str) -> bool:
    """Megatron and DeepSpeed add up in fp32, but Megatron Bridge's recipes for speed (grad_reduce_in_fp32=False)."""
    return framework in {"megatron", "deepspeed"} and not framework_is(configuration, "megatron-bridge")


def _fused_loss(configuration: Configuration) -> bool:
    """torchtune's recipes take the loss in chunks, but for the first steps of its ladder."""
    ladder = "cumulative ladder" in words(configuration, "notes")
    usual = framework_is(configuration, "torchtune") and not ladder
    return usual or step(configuration, "chunked")


def _compiles_loss(configuration: Configuration) -> bool:
    """torchtitan compiles it with the model since its pull request 1033 of 1 April 2025, after 755 of December 2024 had
    turned that off; its benchmarks name their month."""
    dated = re.search(r"_(20\d{4})_", configuration["source"])
    compiled = framework_is(configuration, "torchtitan") and "compile" in words(configuration, "framework")
    return bool(compiled and dated and int(dated[1]) >= COMPILED_LOSS_SINCE)


def _local_batch(configuration: Configuration) -> bool:
    """Whether the micro-batch is a rank's whole batch, which a pipeline divides into as many parts as it has stages."""
    return framework_is(configuration, "torchtitan")


def framework_is(configuration: Configuration, name: str) -> bool:
    """Whether the row's framework begins so."""
    return words(configuration, "framework").startswith(name)


def _sequence_parallel(configuration: Configuration, tensor: int) -> bool:
    told = words(configuration, "sequence_parallel")
    if told:
        return told in {"true", "1", "yes", "on"}
    modern = ("megatron-bridge", "megatron-core", "torchtitan")  # always with tensor parallelism
    return tensor > 1 and any(each in words(configuration, "framework") for each in modern)
