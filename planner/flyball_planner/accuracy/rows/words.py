"""Reads the words of a table: precision, checkpointing, sharding, optimizer and the like, as people write them."""

import re

from msgspec.structs import replace

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.tables import Configuration
from flyball_planner.models.transformer.lora import PRESETS, TARGETS
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS, Precision
from flyball_planner.training import Attention, Checkpointing, Lora, Method, Offload, Optimizer, Sharding

LADDER = ("baseline", "packed", "compile", "chunked", "checkpointing", "backward", "offload", "8-bit", "lora", "qlora")
"""The steps of a cumulative ladder of savings, in the order in which they are taken."""

LORA_RECIPES = {
    **dict.fromkeys(("tiny-llama", "phi-2", "phi-3", "gemma-2b", "gemma-7b", "gemma2-2b", "gemma2b", "gemma2-9b"),
                    Lora(8, TARGETS)),
    **dict.fromkeys(("falcon-7b", "llama-2-7b", "llama-3-8b", "llama-3.1-8b", "llama-3.2-1b", "llama-3.2-3b",
                     "mistral-7b", "mistral-7b-v0.2", "stablelm-base-alpha-3b"), Lora(32, ("q", "v"))),
}  # fmt: skip
"""What LitGPT's published recipes add to (config_hub/finetune/NAME/lora.yaml): a part of the configuration."""

OLD_ATTENTION = (
    "megatron-deepspeed",
    "megatron-style",
    "apex",
    "ngc 20",
    "mxnet",
    "pytorch 1.",
    "deeplearningexamples",
)
"""Frameworks, as the tables name them, that kept the matrix of scores."""

FUSED_STEPS = ("torchtune", "torchtitan", "composer")  # whose recipes ask for torch's fused AdamW
OTHER_OPTIMIZERS = ("adafactor", "lamb", "lion", "adagrad", "rmsprop", "muon")


def words(configuration: Configuration, *columns: str) -> str:
    """Some columns as one text in lower case."""
    return " ".join(configuration[column] for column in columns).casefold()


def step(configuration: Configuration, name: str) -> bool:
    """Whether a row of a cumulative ladder has reached a step."""
    if "cumulative ladder" not in words(configuration, "notes"):
        return False
    told = words(configuration, "framework")
    reached = [position for position, each in enumerate(LADDER) if each in told]
    return bool(reached) and max(reached) >= LADDER.index(name)


def read_method(configuration: Configuration) -> Method:
    """Full training unless the row speaks of low-rank additions."""
    told = words(configuration, "method")
    if "qlora" in told:
        return Method.QLORA
    return Method.LORA if "lora" in told else Method.FULL


def read_lora(configuration: Configuration) -> Lora:
    """Rank and targets as the notes or the named recipe say; else rank 8 on queries and values."""
    told = words(configuration, "notes", "method")
    recipe = re.search(r"litgpt (\S+)/\S+\.yaml", words(configuration, "framework"))
    found = LORA_RECIPES.get(recipe[1], Lora()) if recipe else Lora()
    if "torchtune" in words(configuration, "framework"):
        found = PRESETS["torchtune"]
    rank = re.search(r"rank\D{0,3}(\d+)|\br\s?=\s?(\d+)", told)
    return replace(found, rank=int(rank[1] or rank[2])) if rank else found


def read_precision(configuration: Configuration) -> Precision:
    """The arithmetic, and whether weights are kept in it."""
    told = words(configuration, "precision")
    if "not in table" in told and "megatron-bridge" in words(configuration, "framework"):
        told = "fp8"  # of its table of release 25.09; its notes tell what granularity of quantisation is meant
    wide = _formats(told)
    if wide in {"fp32", "tf32"}:
        return PRECISIONS[wide]
    if any(each in words(configuration, "framework") for each in ("litgpt", "torchtune")) or "true" in told:
        return PRECISIONS["bf16-pure"]
    fully_sharded = read_sharding(configuration) is Sharding.ZERO3  # FSDP's mixed precision keeps fp32 shards
    if wide in {"fp8", "fp4"}:
        compute = PRECISIONS[wide].compute
        return replace(PRECISIONS["bf16-autocast"], compute=compute) if fully_sharded else PRECISIONS[wide]
    if fully_sharded or re.search(r"\bamp|autocast", told):
        return PRECISIONS[f"{wide}-autocast"]
    return PRECISIONS[wide]


def _formats(told: str) -> str:
    for pattern, name in (
        (r"fp4", "fp4"),
        (r"fp8|float8", "fp8"),
        (r"tf32", "tf32"),
        (r"bf16", "bf16"),
        (r"fp16|float16|amp|16-bit|half", "fp16"),
        (r"fp32|float32", "fp32"),
    ):
        if re.search(pattern, told):
            return name
    return "bf16"


def read_checkpointing(configuration: Configuration) -> Checkpointing:
    """What is computed again; none where nothing is said."""
    told = words(configuration, "act_ckpt") or words(configuration, "notes")
    shards = words(configuration, "zero_or_fsdp")
    if "act. ckpt" in shards:  # said beside the sharding: it goes with it
        return Checkpointing.NONE if read_sharding(configuration) is Sharding.NONE else Checkpointing.FULL
    if configuration["act_ckpt"] and told.startswith("none"):
        return Checkpointing.NONE
    if "selective" in told:
        return Checkpointing.SELECTIVE
    return Checkpointing.FULL if configuration["act_ckpt"] and "full" in told else Checkpointing.NONE


def read_sharding(configuration: Configuration) -> Sharding:
    """What data-parallel ranks divide."""
    told = words(configuration, "zero_or_fsdp")
    reserved_for = re.search(r"\) for (\w+)", told)
    if reserved_for and reserved_for[1] != read_method(configuration).value:
        return Sharding.NONE
    stage = re.search(r"zero[- ]?(\d)", told)
    if stage:
        return (Sharding.NONE, Sharding.ZERO1, Sharding.ZERO2, Sharding.ZERO3)[min(3, int(stage[1]))]
    if "grad_op" in told:
        return Sharding.ZERO2
    group = re.search(r"fsdp=(\d+)", told)
    distributed = "megatron-bridge" in words(configuration, "framework")  # on unless FSDP is
    if (distributed or "overlap-param-gather" in words(configuration, "notes")) and not (group and int(group[1])):
        return Sharding.ZERO1
    return Sharding.ZERO3 if "fsdp" in told and not (group and group[1] == "0") else Sharding.NONE


def read_shard_group(configuration: Configuration) -> int:
    """How many ranks divide states, where that is said; 0: all data-parallel ones."""
    group = re.search(r"fsdp=(\d+)", words(configuration, "zero_or_fsdp"))
    return int(group[1]) if group else 0


def read_offload(configuration: Configuration) -> Offload:
    """What lies in the host's memory; FSDP offloads everything unless only the optimizer is named beside it."""
    if "offload" in words(configuration, "act_ckpt"):
        return Offload.ACTIVATIONS
    shards = words(configuration, "zero_or_fsdp")
    told = f"{shards} {words(configuration, 'optimizer')}"
    if "offload" not in told or re.search(r"\b(no|without)[ -]offload|offload:? (no|none)\b", told):
        return Offload.NONE
    if "param" in told or re.search(r"\b(full|all|whole)\b.{0,12}offload", told):
        return Offload.PARAMETERS
    return Offload.PARAMETERS if "fsdp" in shards and "optimizer" not in shards else Offload.OPTIMIZER


def read_optimizer(configuration: Configuration) -> Optimizer:
    """The optimizer; AdamW where the row names none that is known."""
    told = words(configuration, "optimizer")
    if "see notes" in told:
        raise Unsuited("the row does not tell its optimizer")
    in_backward = bool(re.search(r"in[_ ]b(ack)?w", told))
    for name in OTHER_OPTIMIZERS:
        if name in told:
            return find_optimizer(name, in_backward=in_backward)
    if "sgd" in told:
        return find_optimizer("sgd-momentum" if "momentum" in told else "sgd", in_backward=in_backward)
    if re.search(r"8.?bit", told):
        return find_optimizer("adamw-8bit-paged" if "paged" in told else "adamw-8bit", in_backward=in_backward)
    fused = "fused" in told or any(each in words(configuration, "framework") for each in FUSED_STEPS)
    return find_optimizer("adamw-fused" if fused else "adamw", in_backward=in_backward)


def read_attention(configuration: Configuration) -> Attention:
    """Flash unless the row or the age of its framework says otherwise."""
    told = words(configuration, "attention")
    if told:
        return Attention.FLASH if "flash" in told else Attention.MATERIALISED
    old = any(each in words(configuration, "framework") for each in OLD_ATTENTION)
    return Attention.MATERIALISED if old else Attention.FLASH


def read_framework(configuration: Configuration) -> str:
    """The family of frameworks that keeps its buffers alike."""
    told = words(configuration, "framework")
    if "deepspeed" in told:
        return "deepspeed"
    return "megatron" if "megatron" in told else "pytorch"
