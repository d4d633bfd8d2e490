"""Reads the words of a table as people write them: precision, checkpointing, sharding, optimizer and so on.

A word that is not understood refuses its row. An empty cell has a meaning only where a comment
gives the reason.
"""

import re

from msgspec.structs import replace

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.vocabulary import (
    CHECKPOINTING,
    FLASH,
    FRAMEWORKS,
    METHODS,
    OPTIMIZERS,
    OTHER_SHARDING,
    SCORES,
    SHARDING,
    check_words,
    refuse,
    without_asides,
    words,
)
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
FORMATS = (
    (r"fp4|mxfp4|nvfp4", "fp4"),
    (r"fp8|float8", "fp8"),
    (r"tf32", "tf32"),
    (r"bf16|bfloat16", "bf16"),
    (r"fp16|float16|\bamp\b|16-bit|half", "fp16"),  # torch.cuda.amp computes in float16 unless a type is given
    (r"fp32|float32|single", "fp32"),
)
HUGGING_FACE = re.compile(r"hugging ?face|\bhf\b|\btransformers\b|\baccelerate\b|\btrl\b")
LIGHTNING = re.compile(r"lightning|\blit-?gpt|pytorch|torchvision")
FEW_BITS = re.compile(r"nf4|int[48]\b|\b[48][- ]?bit")


def step(configuration: RowConfiguration, name: str) -> bool:
    """Return True if a row of a cumulative ladder has reached a step."""
    if "cumulative ladder" not in words(configuration, "notes"):
        return False
    text = words(configuration, "framework")
    reached = [position for position, each in enumerate(LADDER) if each in text]
    return bool(reached) and max(reached) >= LADDER.index(name)


def read_method(configuration: RowConfiguration) -> Method:
    """Return the weights that are trained. Tables without a name of a method measure the training of all weights."""
    text = words(configuration, "method")
    check_words("method", text, METHODS)
    for method in (Method.QLORA, Method.DORA, Method.LORA, Method.IA3):
        if re.search(rf"\b{method.value}\b", text):
            return method
    return Method.FULL


def read_lora(configuration: RowConfiguration) -> Lora:
    """Return rank and targets from the notes, or from the recipe that the row names."""
    text = words(configuration, "notes", "method")
    rank = re.search(r"rank\D{0,3}(\d+)|\br\s?=\s?(\d+)", text)
    found = _recipe(configuration) or _targets(text)
    if found is None:
        raise Unsuited("the row states neither LoRA's matrices nor a known recipe")
    if rank is None and not _recipe(configuration):
        raise Unsuited("the row states no rank of LoRA")
    return replace(found, rank=int(rank[1] or rank[2])) if rank else found


def _recipe(configuration: RowConfiguration) -> Lora | None:
    """Return the LoRA of a published recipe: LitGPT's by name, or the one that torchtune's recipes share."""
    recipe = re.search(r"litgpt (\S+)/\S+\.yaml", words(configuration, "framework"))
    if recipe:
        return LORA_RECIPES.get(recipe[1])
    return PRESETS["torchtune"] if "torchtune" in words(configuration, "framework") else None


def _targets(text: str) -> Lora | None:
    """Return the matrices that a note names: all of them, or such as q, v or q_proj, v_proj."""
    if re.search(r"all[- ]linear|all (linear )?(layers|matrices|products)", text):
        return Lora(targets=TARGETS)
    named = re.search(r"targets?\W+((?:(?:q|k|v|o|gate|up|down)(?:_proj)?\b[\s,+/]*)+)", text)
    found = re.findall(r"\b(q|k|v|o|gate|up|down)(?:_proj)?\b", named[1]) if named else []
    return Lora(targets=tuple(dict.fromkeys(found))) if found else None


def read_precision(configuration: RowConfiguration) -> Precision:
    """Return the arithmetic, and whether weights are stored in it."""
    text = words(configuration, "precision")
    framework = words(configuration, "framework")
    if "not in table" in text and "megatron-bridge" in framework:
        text = "fp8"  # for the table of release 25.09, whose notes state the granularity of quantisation
    wide = _formats(configuration, text)
    if wide in {"fp32", "tf32"}:
        return PRECISIONS[wide]
    # LitGPT's recipes and torchtune's store weights in 16 bits (bf16-true, dtype: bf16), unless the row has "mixed".
    if (re.search(r"litgpt|torchtune", framework) and "mixed" not in text) or "true" in text:
        return PRECISIONS["bf16-pure"]
    fully_sharded = read_sharding(configuration) is Sharding.ZERO3  # FSDP's mixed precision stores fp32 shards
    if wide in {"fp8", "fp4"}:
        compute = PRECISIONS[wide].compute
        return replace(PRECISIONS["bf16-autocast"], compute=compute) if fully_sharded else PRECISIONS[wide]
    if fully_sharded or re.search(r"\bamp|autocast", text) or _autocasts(configuration, framework, text):
        return PRECISIONS[f"{wide}-autocast"]
    return PRECISIONS[wide]


def _autocasts(configuration: RowConfiguration, framework: str, text: str) -> bool:
    """Return True if mixed precision is torch.autocast over fp32 weights: Hugging Face's Trainer calls it fp16 or bf16,
    Lightning and LitGPT "mixed". Low-rank additions are usually trained over weights that were loaded in 16 bits."""
    if read_method(configuration) is not Method.FULL or read_framework(configuration) != "pytorch":
        return False
    return bool(HUGGING_FACE.search(framework)) or ("mixed" in text and bool(LIGHTNING.search(framework)))


def _formats(configuration: RowConfiguration, text: str) -> str:
    """Return the format of the arithmetic. In QLoRA, few bits are those of the frozen weights."""
    few = FEW_BITS.search(text.replace("16-bit", "").replace("32-bit", ""))
    if few and ("8" in few[0] or read_method(configuration) is not Method.QLORA):
        raise refuse("precision", text, f"{few[0]!r} is only understood as the 4-bit weights of QLoRA")
    for pattern, name in FORMATS:
        if re.search(pattern, text):
            return name
    if few:
        return "bf16"  # bnb_4bit_compute_dtype of the QLoRA paper's recipe (Dettmers et al., 2023, §4)
    raise refuse("precision", text, "no known format") if text else Unsuited("the row has no precision")


def read_checkpointing(configuration: RowConfiguration) -> Checkpointing:
    """Return what is recomputed; an empty cell is nothing, because every framework recomputes only on request."""
    raw = words(configuration, "act_ckpt")
    shards = words(configuration, "zero_or_fsdp")
    if "act. ckpt" in shards:  # stated with the sharding
        return Checkpointing.NONE if read_sharding(configuration) is Sharding.NONE else Checkpointing.FULL
    found = CHECKPOINTING.get(without_asides(raw))
    if found is None:
        raise refuse("act_ckpt", raw, "understood are none, selective and full")
    return Checkpointing(found)


def read_sharding(configuration: RowConfiguration) -> Sharding:
    """Return what data-parallel ranks share; an empty cell is nothing, as in plain data parallelism."""
    text = words(configuration, "zero_or_fsdp")
    if OTHER_SHARDING.search(text) or not SHARDING.search(text):
        raise refuse("zero_or_fsdp", text, "understood are DDP, ZeRO-0 to ZeRO-3 and FSDP")
    reserved_for = re.search(r"\) for (\w+)", text)
    if reserved_for and reserved_for[1] != read_method(configuration).value:
        return Sharding.NONE
    stage = re.search(r"zero[- ]?(?:stage[- ]?)?([0-3])", text)
    if stage:
        return (Sharding.NONE, Sharding.ZERO1, Sharding.ZERO2, Sharding.ZERO3)[int(stage[1])]
    if "grad_op" in text:
        return Sharding.ZERO2
    group = re.search(r"fsdp=(\d+)", text)
    distributed = "megatron-bridge" in words(configuration, "framework") or "distributed optimizer" in text
    # Megatron Bridge enables the distributed optimizer unless FSDP is on (its performance recipes)
    if (distributed or "overlap-param-gather" in words(configuration, "notes")) and not (group and int(group[1])):
        return Sharding.ZERO1
    unsharded = "no_shard" in text or bool(group and group[1] == "0")
    return Sharding.ZERO3 if "fsdp" in text and not unsharded else Sharding.NONE


def read_shard_group(configuration: RowConfiguration) -> int:
    """Return the number of ranks that share states if it is stated; 0: all data-parallel ranks."""
    text = words(configuration, "zero_or_fsdp")
    group = re.search(r"fsdp=(\d+)", text)
    if group is None and re.search(r"hsdp|hybrid", text):
        raise refuse("zero_or_fsdp", text, "the number of ranks that share the states is missing (FSDP=8)")
    return int(group[1]) if group else 0


def read_offload(configuration: RowConfiguration) -> Offload:
    """Return what is stored in the host's memory; FSDP offloads everything unless only the optimizer is named."""
    if "offload" in words(configuration, "act_ckpt"):
        return Offload.ACTIVATIONS
    shards = words(configuration, "zero_or_fsdp")
    text = f"{shards} {words(configuration, 'optimizer')}"
    if re.search(r"nvme|disk|infinity|ratio|partial|%", text):
        raise refuse("zero_or_fsdp", text.strip(), "offloading is only understood to the host's memory, and whole")
    if "offload" not in text or re.search(r"\b(no|without)[ -]offload|offload:? (no|none)\b", text):
        return Offload.NONE
    if "param" in text or re.search(r"\b(full|all|whole)\b.{0,12}offload", text):
        return Offload.PARAMETERS
    # FSDP's CPUOffload moves parameters and states (torch.distributed.fsdp); ZeRO's offload_optimizer only states.
    return Offload.PARAMETERS if "fsdp" in shards and "optimizer" not in shards else Offload.OPTIMIZER


def read_optimizer(configuration: RowConfiguration) -> Optimizer:
    """Return the optimizer. Tables of step times have no such column: a step of Adam's size is assumed there, which is
    less than a hundredth of their steps. A table of memory must name it."""
    text = words(configuration, "optimizer")
    if "see notes" in text or (not text and "mem_meaning" in configuration):
        raise Unsuited("the row has no optimizer")
    check_words("optimizer", text, OPTIMIZERS)
    in_backward = bool(re.search(r"in[_ ]b(ack)?w", text))
    few = bool(re.search(r"8.?bit", text))
    for name in OTHER_OPTIMIZERS:
        if name in text and not few:
            return find_optimizer(name, in_backward=in_backward)
    if "sgd" in text and not few:
        return find_optimizer(
            "sgd-momentum" if re.search("momentum|nesterov", text) else "sgd", in_backward=in_backward
        )
    if text and "adam" not in text:
        raise refuse("optimizer", text, "no known optimizer")
    if few:
        return find_optimizer("adamw-8bit-paged" if "paged" in text else "adamw-8bit", in_backward=in_backward)
    fused = "fused" in text or any(each in words(configuration, "framework") for each in FUSED_STEPS)
    return find_optimizer("adamw-fused" if fused else "adamw", in_backward=in_backward)


def read_attention(configuration: RowConfiguration) -> Attention:
    """Return flash attention, unless the row or the age of its framework indicates otherwise.

    PyTorch's `scaled_dot_product_attention` and all current frameworks use it since 2023."""
    text = words(configuration, "attention")
    if FLASH.search(text):
        return Attention.FLASH
    if text:
        if not SCORES.search(text):
            raise refuse("attention", text, "understood are flash attention and stored scores")
        return Attention.MATERIALISED
    old = any(each in words(configuration, "framework") for each in OLD_ATTENTION)
    return Attention.MATERIALISED if old else Attention.FLASH


def read_framework(configuration: RowConfiguration) -> str:
    """Return the family of frameworks that keeps its buffers alike; a row without a framework is read as PyTorch."""
    text = words(configuration, "framework")
    if text and not any(each in text for each in FRAMEWORKS):
        raise refuse("framework", text, "how it keeps weights and buffers is not known")
    if "deepspeed" in text:
        return "deepspeed"
    return "megatron" if "megatron" in text else "pytorch"
