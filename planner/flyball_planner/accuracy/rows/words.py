"""Reads the words of a table as people write them: precision, checkpointing, sharding, optimizer and so on."""

import re

from msgspec.structs import replace

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.tables import RowConfiguration
from flyball_planner.models.transformer.lora import PRESETS, TARGETS
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS, Precision
from flyball_planner.training import Attention, Checkpointing, Lora, Method, Offload, Optimizer, Sharding

LADDER = ("baseline", "packed", "compile", "chunked", "checkpointing", "backward", "offload", "8-bit", "lora", "qlora")
"""The steps of a cumulative ladder of savings, in their order."""

LORA_RECIPES = {
    **dict.fromkeys(("tiny-llama", "phi-2", "phi-3", "gemma-2b", "gemma-7b", "gemma2-2b", "gemma2b", "gemma2-9b"),
                    Lora(8, TARGETS)),
    **dict.fromkeys(("falcon-7b", "llama-2-7b", "llama-3-8b", "llama-3.1-8b", "llama-3.2-1b", "llama-3.2-3b",
                     "mistral-7b", "mistral-7b-v0.2", "stablelm-base-alpha-3b"), Lora(32, ("q", "v"))),
}  # fmt: skip
"""The LoRA targets of LitGPT's published recipes (config_hub/finetune/NAME/lora.yaml)."""

OLD_ATTENTION = (
    "megatron-deepspeed",
    "megatron-style",
    "apex",
    "ngc 20",
    "mxnet",
    "pytorch 1.",
    "deeplearningexamples",
)
"""Frameworks that store the matrix of scores, by their names in the tables."""

FUSED_STEPS = ("torchtune", "torchtitan", "composer")  # their recipes use torch's fused AdamW
OTHER_OPTIMIZERS = ("adafactor", "lamb", "lion", "adagrad", "rmsprop", "muon")


def words(configuration: RowConfiguration, *columns: str) -> str:
    """Return some columns as one text in lower case."""
    return " ".join(configuration[column] for column in columns).casefold()


def step(configuration: RowConfiguration, name: str) -> bool:
    """Return True if a row of a cumulative ladder has reached a step."""
    if "cumulative ladder" not in words(configuration, "notes"):
        return False
    text = words(configuration, "framework")
    reached = [position for position, each in enumerate(LADDER) if each in text]
    return bool(reached) and max(reached) >= LADDER.index(name)


def read_method(configuration: RowConfiguration) -> Method:
    """Return full training, unless the row mentions low-rank additions."""
    text = words(configuration, "method")
    if "qlora" in text:
        return Method.QLORA
    return Method.LORA if "lora" in text else Method.FULL


def read_lora(configuration: RowConfiguration) -> Lora:
    """Return rank and targets from the notes or the named recipe; by default rank 8 on queries and values."""
    text = words(configuration, "notes", "method")
    recipe = re.search(r"litgpt (\S+)/\S+\.yaml", words(configuration, "framework"))
    found = LORA_RECIPES.get(recipe[1], Lora()) if recipe else Lora()
    if "torchtune" in words(configuration, "framework"):
        found = PRESETS["torchtune"]
    rank = re.search(r"rank\D{0,3}(\d+)|\br\s?=\s?(\d+)", text)
    return replace(found, rank=int(rank[1] or rank[2])) if rank else found


def read_precision(configuration: RowConfiguration) -> Precision:
    """Return the arithmetic, and whether weights are stored in it."""
    text = words(configuration, "precision")
    if "not in table" in text and "megatron-bridge" in words(configuration, "framework"):
        text = "fp8"  # for the table of release 25.09, whose notes state the granularity of quantisation
    wide = _formats(text)
    if wide in {"fp32", "tf32"}:
        return PRECISIONS[wide]
    if any(each in words(configuration, "framework") for each in ("litgpt", "torchtune")) or "true" in text:
        return PRECISIONS["bf16-pure"]
    fully_sharded = read_sharding(configuration) is Sharding.ZERO3  # FSDP's mixed precision stores fp32 shards
    if wide in {"fp8", "fp4"}:
        compute = PRECISIONS[wide].compute
        return replace(PRECISIONS["bf16-autocast"], compute=compute) if fully_sharded else PRECISIONS[wide]
    if fully_sharded or re.search(r"\bamp|autocast", text):
        return PRECISIONS[f"{wide}-autocast"]
    return PRECISIONS[wide]


def _formats(text: str) -> str:
    for pattern, name in (
        (r"fp4", "fp4"),
        (r"fp8|float8", "fp8"),
        (r"tf32", "tf32"),
        (r"bf16", "bf16"),
        (r"fp16|float16|amp|16-bit|half", "fp16"),
        (r"fp32|float32", "fp32"),
    ):
        if re.search(pattern, text):
            return name
    return "bf16"


def read_checkpointing(configuration: RowConfiguration) -> Checkpointing:
    """Return what is recomputed; by default nothing."""
    text = words(configuration, "act_ckpt") or words(configuration, "notes")
    shards = words(configuration, "zero_or_fsdp")
    if "act. ckpt" in shards:  # stated with the sharding
        return Checkpointing.NONE if read_sharding(configuration) is Sharding.NONE else Checkpointing.FULL
    if configuration["act_ckpt"] and text.startswith("none"):
        return Checkpointing.NONE
    if "selective" in text:
        return Checkpointing.SELECTIVE
    return Checkpointing.FULL if configuration["act_ckpt"] and "full" in text else Checkpointing.NONE


def read_sharding(configuration: RowConfiguration) -> Sharding:
    """Return what data-parallel ranks share."""
    text = words(configuration, "zero_or_fsdp")
    reserved_for = re.search(r"\) for (\w+)", text)
    if reserved_for and reserved_for[1] != read_method(configuration).value:
        return Sharding.NONE
    stage = re.search(r"zero[- ]?(\d)", text)
    if stage:
        return (Sharding.NONE, Sharding.ZERO1, Sharding.ZERO2, Sharding.ZERO3)[min(3, int(stage[1]))]
    if "grad_op" in text:
        return Sharding.ZERO2
    group = re.search(r"fsdp=(\d+)", text)
    distributed = "megatron-bridge" in words(configuration, "framework")  # enabled unless FSDP is
    if (distributed or "overlap-param-gather" in words(configuration, "notes")) and not (group and int(group[1])):
        return Sharding.ZERO1
    return Sharding.ZERO3 if "fsdp" in text and not (group and group[1] == "0") else Sharding.NONE


def read_shard_group(configuration: RowConfiguration) -> int:
    """Return the number of ranks that share states if it is stated; 0: all data-parallel ranks."""
    group = re.search(r"fsdp=(\d+)", words(configuration, "zero_or_fsdp"))
    return int(group[1]) if group else 0


def read_offload(configuration: RowConfiguration) -> Offload:
    """Return what is stored in the host's memory; FSDP offloads everything unless only the optimizer is named."""
    if "offload" in words(configuration, "act_ckpt"):
        return Offload.ACTIVATIONS
    shards = words(configuration, "zero_or_fsdp")
    text = f"{shards} {words(configuration, 'optimizer')}"
    if "offload" not in text or re.search(r"\b(no|without)[ -]offload|offload:? (no|none)\b", text):
        return Offload.NONE
    if "param" in text or re.search(r"\b(full|all|whole)\b.{0,12}offload", text):
        return Offload.PARAMETERS
    return Offload.PARAMETERS if "fsdp" in shards and "optimizer" not in shards else Offload.OPTIMIZER


def read_optimizer(configuration: RowConfiguration) -> Optimizer:
    """Return the optimizer, by default AdamW."""
    text = words(configuration, "optimizer")
    if "see notes" in text:
        raise Unsuited("the row has no optimizer")
    in_backward = bool(re.search(r"in[_ ]b(ack)?w", text))
    for name in OTHER_OPTIMIZERS:
        if name in text:
            return find_optimizer(name, in_backward=in_backward)
    if "sgd" in text:
        return find_optimizer("sgd-momentum" if "momentum" in text else "sgd", in_backward=in_backward)
    if re.search(r"8.?bit", text):
        return find_optimizer("adamw-8bit-paged" if "paged" in text else "adamw-8bit", in_backward=in_backward)
    fused = "fused" in text or any(each in words(configuration, "framework") for each in FUSED_STEPS)
    return find_optimizer("adamw-fused" if fused else "adamw", in_backward=in_backward)


def read_attention(configuration: RowConfiguration) -> Attention:
    """Return flash attention, unless the row or the age of its framework indicates otherwise."""
    text = words(configuration, "attention")
    if text:
        return Attention.FLASH if "flash" in text else Attention.MATERIALISED
    old = any(each in words(configuration, "framework") for each in OLD_ATTENTION)
    return Attention.MATERIALISED if old else Attention.FLASH


def read_framework(configuration: RowConfiguration) -> str:
    """The family of frameworks that keeps its buffers alike."""
    text = words(configuration, "framework")
    if "deepspeed" in text:
        return "deepspeed"
    return "megatron" if "megatron" in text else "pytorch"
